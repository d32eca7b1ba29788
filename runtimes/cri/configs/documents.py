"""What a pod's document says of the pod and of its containers, and why it cannot be configured so. Pure.

A configuration that is not quite what was asked for is possible, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from manifests.restart_rules import is_sidecar
from messages.container_runtime import RuntimeFailure, RuntimeFailureKind
from messages.pods import CONTAINER_LISTS, JsonObject, Pod


def spec_of(pod: Pod) -> JsonObject:
    """Return the specification of ``pod``."""
    return pod.document.get("spec") or {}


def metadata_of(pod: Pod) -> JsonObject:
    """Return the metadata of ``pod``."""
    return pod.document.get("metadata") or {}


def security_of(holder: JsonObject) -> JsonObject:
    """Return the security context of a pod's specification, or of a container."""
    return holder.get("securityContext") or {}


def volumes_by_name(pod: Pod) -> Mapping[str, JsonObject]:
    """Return the volumes of the specification of ``pod``."""
    return {each.get("name") or "": each for each in spec_of(pod).get("volumes") or ()}


def all_containers(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield all containers of a pod, of every kind."""
    for name in CONTAINER_LISTS:
        yield from spec.get(name) or ()


def lasting_containers(spec: JsonObject) -> Iterator[JsonObject]:
    """Yield the regular containers and the sidecars: those whose ports count."""
    yield from filter(is_sidecar, spec.get("initContainers") or ())
    yield from spec.get("containers") or ()


def effective(pod: Pod, container: JsonObject, name: str) -> Any:
    """Return a field of the security context that a container has, or else its pod; None if neither has."""
    own = security_of(container).get(name)
    return own if own is not None else security_of(spec_of(pod)).get(name)


LONGEST_MESSAGE: Final = 1024
"""Characters."""


class ConfigRefusedError(Exception):
    """What a pod asks for cannot be configured here. The text is for people, one line, without secrets."""

    def __init__(
        self,
        message: str,
        *,
        kind: RuntimeFailureKind = RuntimeFailureKind.CONFIG,
        reason: str = "",
    ) -> None:
        # It repeats words of the pod, of any length and any number of lines.
        self.message = " ".join(message.split())[:LONGEST_MESSAGE]
        super().__init__(self.message)
        self.kind = kind
        self.reason = reason
        """One word of the kubelet's, where it has one."""

    @property
    def failure(self) -> RuntimeFailure:
        """The answer to the request that it was made for."""
        return RuntimeFailure(kind=self.kind, message=self.message, reason=self.reason)


def never_possible(message: str, reason: str) -> ConfigRefusedError:
    """Return the refusal of a pod that cannot run on this node, however often it is tried."""
    return ConfigRefusedError(message, kind=RuntimeFailureKind.UNSUPPORTED, reason=reason)


def not_now(message: str) -> ConfigRefusedError:
    """Return the refusal of something that may be possible later."""
    return ConfigRefusedError(message, kind=RuntimeFailureKind.REFUSED)


class ConfigNotice(NamedTuple):
    """Something that people should know of a pod, as an event of type Warning."""

    reason: str
    message: str
    is_of_node: bool = False
    """Whether it is so for all pods of the node: then the log has it once."""


@contextmanager
def refusing_impossible_values(what: str) -> Iterator[None]:
    """Turn values that the messages cannot carry into a refusal that names ``what``, and no value.

    A number is too large, a text is not Unicode, or something is of another type than the API says.
    """
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        text = f"{what} has a value that no container runtime can be told ({type(error).__name__})"
        raise ConfigRefusedError(text) from None
