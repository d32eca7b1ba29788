"""Asks the program that makes and reads certificates. It may block: for the thread that looks at files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from actors.certificates.pairs import BACK, LIFE, Pair, WantedNames
from kernel import StepError
from kernel.commands import CommandError
from kernel.programs import answer_of
from messages.units import Seconds, Timestamp

DEADLINE: Final = Seconds(30.0)
"""It takes 0.3 s, and many times that on a machine that is busy with something else."""

Document: TypeAlias = Mapping[str, Any]
AskKeys: TypeAlias = Callable[[Document], Document]
"""Answers a question; ``key_process.answer`` has the form of both. May block, and raise
``KeysUnaskedError``."""


class UnusableError(StepError):
    """Files hold nothing that can be used. The text says why, and shows nothing of them."""


class KeysUnaskedError(StepError):
    """The program gave no answer, so nothing is known of what it was asked."""


def ask_process(question: Document, deadline: Seconds = DEADLINE) -> Document:
    """Answer by a process with the program ``key_process``."""
    try:
        answer: Document = answer_of("actors.certificates.key_process", question, deadline)
    except CommandError as error:
        raise KeysUnaskedError(f"the process that makes and reads keys {error}") from None
    return answer


class KeyProgram:
    """Makes pairs, and reads those of others."""

    def __init__(self, ask: AskKeys = ask_process) -> None:
        self._ask = ask

    def make(self, wanted: WantedNames, now: Timestamp) -> Pair:
        """Return a new certificate of the node's own. Raises ``KeysUnaskedError``."""
        made = self._answer(
            ask="make",
            names=[wanted.name],
            addresses=wanted.addresses,
            since=int(now - BACK),
            until=int(now + LIFE),
        )
        return _pair(made, _bytes(made["certificate"]), _bytes(made["key"]))

    def read(self, certificate: bytes, key: bytes) -> Pair:
        """Return a pair that was read. Raises ``UnusableError`` and ``KeysUnaskedError``."""
        answer = self._answer(ask="read", certificate=_text(certificate), key=_text(key))
        return _pair(answer, certificate, key)

    def read_authorities(self, pem: bytes) -> bytes:
        """Return ``pem``, if it holds certificates. Raises ``UnusableError`` and ``KeysUnaskedError``."""
        self._answer(ask="read authorities", authorities=_text(pem))
        return pem

    def _answer(self, **question: object) -> Document:
        answer = self._ask(question)
        if "refused" in answer:
            raise UnusableError(answer["refused"])
        return answer


def _text(pem: bytes) -> str:
    try:
        return pem.decode("ascii")
    except UnicodeDecodeError:
        raise UnusableError("it is no PEM") from None


def _bytes(pem: str) -> bytes:
    return pem.encode("ascii")


def _pair(answer: Document, certificate: bytes, key: bytes) -> Pair:
    return Pair(
        certificate=certificate,
        key=key,
        since=Timestamp(answer["since"]),
        until=Timestamp(answer["until"]),
        names=tuple(answer["names"]),
        addresses=tuple(answer["addresses"]),
        is_self_signed=answer["is_self_signed"],
    )
