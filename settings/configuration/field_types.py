"""The types of fields in a configuration file: numbers in their ranges, durations, addresses, objects.

Types are strict, as a kubelet's decoder is: a number is no string. Complaints say what belongs there,
never what was found, since a header's value may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)
from pydantic.fields import FieldInfo

from messages.units import Seconds
from settings.values.addresses import ip_address
from settings.values.durations import checked_frequency, format_duration, parse_duration


def _duration(value: object) -> float:
    return parse_duration(value if isinstance(value, str) else "")


def _flush_frequency(value: object) -> float:
    # The one field that Kubernetes also reads as a number, of nanoseconds.
    return value / 10**9 if type(value) is int else _duration(value)


def _quantity(value: object) -> object:
    return str(value) if type(value) in {int, float} else value


_AS_GO = PlainSerializer(lambda span: format_duration(Seconds(span)), return_type=str)
Duration: TypeAlias = Annotated[float, BeforeValidator(_duration), _AS_GO]
Frequency: TypeAlias = Annotated[Duration, AfterValidator(checked_frequency)]
FlushFrequency: TypeAlias = Annotated[float, BeforeValidator(_flush_frequency), _AS_GO]
Quantity: TypeAlias = Annotated[str, BeforeValidator(_quantity)]
IpAddress: TypeAlias = Annotated[str, AfterValidator(ip_address)]
Int32: TypeAlias = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Int64: TypeAlias = Annotated[int, Field(ge=-(2**63), lt=2**63)]
UInt32: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
Port: TypeAlias = Annotated[int, Field(ge=0, le=65535)]


class Part(BaseModel):
    """An object in the file: strict types, no unknown fields. A field that is null counts as not set."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, value: object) -> object:
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value

    def value_of(self, name: str) -> Any:
        """Return the value of the field ``name``; zero and empty ask for the default, as in a kubelet."""
        return getattr(self, name) or type(self).model_fields[name].default

    def given(self) -> dict[str, Any]:
        """Return the fields that the file sets, as JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def set_paths(self, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """Yield the path of every field that is set, in the order of the schema."""
        for name, field in type(self).model_fields.items():
            path = (*above, field.alias or name)
            value = getattr(self, name)
            if name not in self.model_fields_set:
                continue
            if isinstance(value, Part):
                yield from value.set_paths(path)
            else:
                yield path

    @classmethod
    def known_fields(
        cls, above: tuple[str, ...] = ()
    ) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
        """Yield the path of every field that there is, with what is known of it."""
        for name, field in cls.model_fields.items():
            path = (*above, field.alias or name)
            if isinstance(field.default, Part):
                yield from type(field.default).known_fields(path)
            else:
                yield path, field

    def changed(self, path: str = "") -> Iterator[str]:
        """Yield the path of every field whose value differs from its default.

        Zero durations and empty values mean the default to a kubelet, and kubeadm writes many of them.
        """
        for name in sorted(self.model_fields_set):
            field = type(self).model_fields[name]
            value = getattr(self, name)
            if isinstance(value, Part):
                yield from value.changed(f"{path}{field.alias or name}.")
            elif value != field.default and not _means_default(value):
                yield path + (field.alias or name)


def _means_default(value: object) -> bool:
    return value in ("", [], {}) or (isinstance(value, float) and value == 0.0)


def words(known: FieldInfo) -> str:
    """Return the type of a field in words."""
    return _words(known.annotation, known.metadata)


def _words(kind: Any, metadata: Sequence[object] = ()) -> str:
    if _AS_GO in metadata:
        return "duration"
    if AfterValidator(ip_address) in metadata:
        return "IP address"
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return _words(inner, more)
    if get_origin(kind) is Literal:
        return " or ".join(str(each) for each in get_args(kind) if each)
    if get_origin(kind) is list:
        return f"list of {_words(*get_args(kind))}"
    if get_origin(kind) is dict:
        return f"{_words(get_args(kind)[1])} by name"
    known = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return known.get(kind, "object")
