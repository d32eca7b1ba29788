"""Asks the kubernetes client what credentials mean, in a process that ends.

The client's import takes 19 MB, which stay for good wherever it is imported. The last question and its
answer are remembered: a token that is refused and that nobody changes costs no second process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kernel.commands import CommandError
from kernel.programs import answer_of
from kube.credentials.access import CredentialsError
from messages.pods import JsonObject
from messages.units import Seconds

DEADLINE: Final = Seconds(30.0)
"""It takes half a second, and many times that on a machine that is busy with something else."""

Ask: TypeAlias = Callable[[JsonObject], JsonObject]
"""Answers a question to the client; ``client_process.answer`` has the form of both. May block, and raise
``CredentialsError``."""


class ClientRefusedError(Exception):
    """The client does not take these credentials. The text is the client's and may contain anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAnswer:
    """How to call the API server, as the client understands it. The ``repr`` does not show as whom."""

    server: str
    authorization: str = field(repr=False)
    has_authority: bool
    """Whether the certificate authority matters. It does not for a server without TLS."""
    has_identity: bool
    """Whether the client certificate matters."""
    verify: bool
    tls_server_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    why: str = field(repr=False)


class Client:
    """The kubernetes client, wherever it is. One thread at a time may ask."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._last: tuple[JsonObject, ClientAnswer | _Refusal] | None = None

    def ask(self, question: JsonObject) -> ClientAnswer:
        """Return what the client makes of ``question``. May block up to ``DEADLINE``.

        Raises ``ClientRefusedError``, and ``CredentialsError`` if the client cannot be asked.
        """
        if self._last is None or self._last[0] != question:
            self._last = question, _parsed(self._ask(question))
        _, answer = self._last
        if isinstance(answer, _Refusal):
            raise ClientRefusedError(answer.why)
        return answer


def _parsed(answer: JsonObject) -> ClientAnswer | _Refusal:
    try:
        return _Refusal(why=answer["refused"]) if "refused" in answer else ClientAnswer(**answer)
    except TypeError:  # files of another version were put in the place of ours
        raise _in_vain("printed something else than an answer") from None


def ask_process(question: JsonObject, deadline: Seconds = DEADLINE) -> JsonObject:
    """Answer by a process with the program ``client_process``."""
    try:
        answer: JsonObject = answer_of("kube.credentials.client_process", question, deadline)
    except CommandError as error:
        raise _in_vain(str(error)) from None
    return answer


def _in_vain(why: str) -> CredentialsError:
    return CredentialsError(f"cannot be used: the process with the kubernetes client {why}")
