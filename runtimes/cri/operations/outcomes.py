"""What the failures of calls and of the disk mean for the request that they belong to. Pure."""

from __future__ import annotations

from typing import Final

from messages.container_runtime import RuntimeFailure, RuntimeFailureKind
from runtimes.cri.wire.transport import RpcCode, RpcFailure

LONGEST_MESSAGE: Final = 4096
"""Characters. A runtime can answer with whatever a program has written."""

_KINDS: Final = {
    RpcCode.UNAVAILABLE: RuntimeFailureKind.UNCERTAIN,
    RpcCode.DEADLINE_EXCEEDED: RuntimeFailureKind.UNCERTAIN,
    RpcCode.CANCELLED: RuntimeFailureKind.UNCERTAIN,
    RpcCode.UNIMPLEMENTED: RuntimeFailureKind.UNSUPPORTED,
    RpcCode.NOT_FOUND: RuntimeFailureKind.NOT_FOUND,
}

STARTING: Final = "server is not initialized yet"
"""What containerd answers until it has read what there is."""
NO_INTERFACE: Final = "unknown service runtime.v1.RuntimeService"
"""What a containerd answers whose part for containers is switched off, or could not be loaded."""


def failure_of(failure: RpcFailure) -> RuntimeFailure:
    """Return what a call without a reply means for the request that it belongs to."""
    kind = _KINDS.get(failure.code, RuntimeFailureKind.REFUSED)
    is_outage = is_away(failure)
    if is_outage:
        kind = RuntimeFailureKind.UNCERTAIN
    return RuntimeFailure(kind=kind, message=one_line(failure.message), is_away=is_outage)


def failure_of_disk(message: str) -> RuntimeFailure:
    """Return what a failure of the disk means: another time it may go well."""
    return RuntimeFailure(kind=RuntimeFailureKind.REFUSED, message=one_line(message))


def is_away(failure: RpcFailure) -> bool:
    """Return whether nobody can be asked at present.

    Nobody listens, whoever does has just started, or it came back without what runs containers: that says
    nothing about what a pod asks for.
    """
    is_switched_off = failure.code is RpcCode.UNIMPLEMENTED and NO_INTERFACE in failure.message
    return failure.code is RpcCode.UNAVAILABLE or STARTING in failure.message or is_switched_off


def is_uncertain(failure: RpcFailure) -> bool:
    """Return whether the call may have had its effect."""
    return failure_of(failure).kind is RuntimeFailureKind.UNCERTAIN


def one_line(text: str) -> str:
    """Return ``text`` for people: as one line, of a length that can be shown."""
    return " ".join(text.split())[:LONGEST_MESSAGE]
