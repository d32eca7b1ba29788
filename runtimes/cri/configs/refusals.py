"""How a configuration says that it cannot be, or is not quite what was asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from messages.container_runtime import RuntimeFailure, RuntimeFailureKind

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
