"""What a runtime's refusal of an image means, in a kubelet's words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from messages.container_runtime import RuntimeFailure, RuntimeFailureKind
from runtimes.cri.operations.flow import is_away
from runtimes.cri.wire.transport import RpcCode, RpcFailure

LONGEST: Final = 2048
"""Characters of a message. Runtimes repeat themselves."""

QPS_EXCEEDED: Final = RuntimeFailure(
    kind=RuntimeFailureKind.IMAGE_PULL, message="pull QPS exceeded"
)

_CERTAIN = frozenset({RpcCode.OTHER, RpcCode.NOT_FOUND, RpcCode.UNIMPLEMENTED})
_CODES: Final = {
    RpcCode.UNAVAILABLE: "Unavailable",
    RpcCode.DEADLINE_EXCEEDED: "DeadlineExceeded",
    RpcCode.CANCELLED: "Canceled",
    RpcCode.UNIMPLEMENTED: "Unimplemented",
    RpcCode.NOT_FOUND: "NotFound",
    RpcCode.RESOURCE_EXHAUSTED: "ResourceExhausted",
}
_REASONS: Final = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}
"""Words at the beginning of a runtime's message that are reasons of their own."""


def is_uncertain(failure: RpcFailure) -> bool:
    """Return whether the call may have had its effect in spite of ``failure``."""
    return failure.code not in _CERTAIN


def message_of(failure: RpcFailure) -> str:
    """Return a runtime's message in one line, with its code if that says anything."""
    text = " ".join(failure.message.split())[:LONGEST]
    code = _CODES.get(failure.code)
    return f"rpc error: code = {code} desc = {text}" if code else text


def find_failure(failure: RpcFailure) -> RuntimeFailure:
    """Return why nobody knows whether an image is there."""
    kind = RuntimeFailureKind.UNCERTAIN if is_uncertain(failure) else RuntimeFailureKind.REFUSED
    return RuntimeFailure(kind=kind, message=message_of(failure), is_away=is_away(failure))


def pull_failure(image: str, failures: Sequence[RpcFailure]) -> RuntimeFailure:
    """Return why an image could not be pulled, after one attempt or several with other credentials."""
    last = failures[-1]
    kind = RuntimeFailureKind.UNCERTAIN if is_uncertain(last) else RuntimeFailureKind.IMAGE_PULL
    for word, meaning in _REASONS.items():
        found = next((each for each in failures if each.message.startswith(word)), None)
        if found is not None:
            rest = " ".join(found.message.removeprefix(word).lstrip(":").split())[:LONGEST]
            message = f"image pull failed for {image} because {meaning}{rest and ': '}{rest}"
            return RuntimeFailure(kind=kind, message=message, reason=word)
    messages = dict.fromkeys(map(message_of, failures))
    text = next(iter(messages)) if len(messages) == 1 else f"[{', '.join(messages)}]"
    return RuntimeFailure(kind=kind, message=text[:LONGEST], is_away=is_away(last))
