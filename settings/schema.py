"""The KubeletConfiguration file format, v1beta1, as pydantic reads it: models made of the table of fields.

Types are strict, as a kubelet's decoder is: a number is no string. Complaints say what belongs there, never
what was found, since a header's value may be a secret.
"""
# ruff: noqa: N815 - fields are called as in the file; pydantic copies a mutable default

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    create_model,
    model_validator,
)
from pydantic import Field as Limits

from manifests.times import format_duration, parse_duration
from messages.units import Seconds
from settings import kinds
from settings.addresses import ip_address
from settings.kinds import Kind, checked_frequency
from settings.rows import Field
from settings.table import FIELDS, KIND


class Part(BaseModel):
    """An object in the file: strict types, no unknown fields. A field that is null counts as not set."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, value: object) -> object:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value

    def given(self) -> dict[str, Any]:
        """Return the fields that the file sets, as JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def told(self, above: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the path of every field that is set, with its value. Durations are in seconds."""
        for name, field in type(self).model_fields.items():
            path, value = above + (field.alias or name), getattr(self, name)
            if name not in self.model_fields_set:
                continue
            if isinstance(value, Part):
                yield from value.told(f"{path}.")
            elif isinstance(value, list):
                yield (
                    path,
                    [each.model_dump() if isinstance(each, Part) else each for each in value],
                )
            else:
                yield path, value


def _duration(value: object) -> float:
    return parse_duration(value if isinstance(value, str) else "")


def _flush_frequency(value: object) -> float:
    # The one field that Kubernetes also reads as a number, of nanoseconds.
    return value / 10**9 if type(value) is int else _duration(value)


def _quantity(value: object) -> object:
    return str(value) if type(value) in {int, float} else value


_AS_GO = PlainSerializer(lambda span: format_duration(Seconds(span)), return_type=str)
Duration: TypeAlias = Annotated[float, BeforeValidator(_duration), _AS_GO]
Quantity: TypeAlias = Annotated[str, BeforeValidator(_quantity)]
Int32: TypeAlias = Annotated[int, Limits(ge=-(2**31), lt=2**31)]
Int64: TypeAlias = Annotated[int, Limits(ge=-(2**63), lt=2**63)]
UInt32: TypeAlias = Annotated[int, Limits(ge=0, lt=2**32)]


class VModuleItem(Part):
    """An entry of ``logging.vmodule``."""

    filePattern: str = ""
    verbosity: UInt32 = 0


class MemoryReservation(Part):
    """An entry of ``reservedMemory``."""

    numaNode: Int32 = 0
    limits: dict[str, Quantity] = {}


class ShutdownGracePeriodByPodPriority(Part):
    """An entry of ``shutdownGracePeriodByPodPriority``."""

    priority: Int32 = 0
    shutdownGracePeriodSeconds: Int64 = 0


class Taint(Part):
    """An entry of ``registerWithTaints``."""

    key: str = ""
    value: str = ""
    effect: str = ""
    timeAdded: object = None


TYPES: Final[Mapping[Kind, Any]] = {
    kinds.TEXT: str,
    kinds.ENDPOINT: str,
    kinds.SWITCH: bool,
    kinds.DURATION: Duration,
    kinds.PAUSE: Duration,
    kinds.FREQUENCY: Annotated[Duration, AfterValidator(checked_frequency)],
    kinds.FLUSH_FREQUENCY: Annotated[float, BeforeValidator(_flush_frequency), _AS_GO],
    kinds.ADDRESS: Annotated[str, AfterValidator(ip_address)],
    kinds.NUMBER: Int32,
    kinds.INTEGER: Int32,
    kinds.COUNT: Annotated[Int32, Limits(ge=0)],
    kinds.LEVEL: UInt32,
    kinds.LONG: Int64,
    kinds.PORT: Annotated[int, Limits(ge=0, le=65535)],
    kinds.FRACTION: float,
    kinds.QUANTITY: Quantity,
    kinds.LIST: list[str],
    kinds.INTEGERS: list[Int32],
    kinds.AMOUNTS: dict[str, str],
    kinds.THRESHOLDS: dict[str, str],
    kinds.GATES: dict[str, bool],
    kinds.HEADERS: dict[str, list[str]],
    kinds.TAINTS: list[Taint],
    kinds.VERBOSITIES: list[VModuleItem],
    kinds.GRACE_PERIODS: list[ShutdownGracePeriodByPodPriority],
    kinds.MEMORY: list[MemoryReservation],
}
"""What is right in the file for each kind that is no choice between texts."""


def _model(name: str, fields: Mapping[str, Field]) -> type[Part]:
    """Return the model of an object with these fields, by their paths below it."""
    parts: dict[str, dict[str, Field]] = {}
    made: dict[str, Any] = {}
    for path, each in fields.items():
        first, _, below = path.partition(".")
        if below:
            parts.setdefault(first, {})[below] = each
        else:
            made[first] = (_type(each.kind), each.initial)
    for first, below_it in parts.items():
        part = _model(first[0].upper() + first[1:], below_it)
        made[first] = (part, part())
    definitions: dict[str, Any] = {
        # An attribute may be taken: ``json``.
        f"{first}_" if hasattr(Part, first) else first: (kind, Limits(default=default, alias=first))
        for first, (kind, default) in made.items()
    }
    return create_model(name, __base__=Part, **definitions)


def _type(kind: Kind) -> Any:
    return Literal[("", *kind.choices)] if kind.choices else TYPES[kind]


KubeletConfiguration: Final = _model(KIND, FIELDS)
"""The whole file."""
