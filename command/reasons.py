"""Why a pod does not run, or is not ready: in the agent's sentences, with what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from command.failures import StrangeAnswerError
from command.reading import Document, count, parts, text, value
from command.wording import ago, moment, span

SIGNALS = {1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvidence:
    """What the endpoints say about one pod."""

    pod: Document
    manifests: list[Document] = field(default_factory=list)
    objects: list[Document] = field(default_factory=list)
    story: Document = field(default_factory=dict)
    """What the agent tells of the pod alone: its summary, its probes, its old variables."""
    volumes: Sequence[Document] = ()
    events: Sequence[Document] = ()
    """What the agent remembers of it, the oldest first."""
    why: Sequence[WhyNot] = ()
    """Why it is not as it should be."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """One cause in a sentence, and what to do about it if that is known."""

    text: str
    advice: str = ""
    at: str = ""
    """When that comes which ``text`` ends with; empty if it ends with nothing of the kind."""

    def told(self, now: float) -> str:
        """Return the sentence with the time that is left: ``... and will be again in 3m12s``."""
        due = moment(self.at)
        if due is None:
            return self.text
        return f"{self.text} in {span(due - now)}" if due - now >= 1 else f"{self.text} in a moment"


def reasons(told: Document) -> list[WhyNot]:
    """Return the causes that the agent tells of a pod. Raises ``StrangeAnswerError`` if it tells none."""
    if not isinstance(told.get("why"), list):
        raise StrangeAnswerError(
            "the agent does not say why pods do not run: it is of another version"
        )
    return [
        WhyNot(text(each, "text"), text(each, "advice"), text(each, "at"))
        for each in parts(told, "why")
    ]


def ending(terminated: Document, now: float | None = None) -> str:
    """Return how a container ended: ``ended with 3 (Error) 20s ago: what it said last``.

    When it ended is left out without ``now``.
    """
    code, reason = value(terminated, "exitCode"), text(terminated, "reason")
    number = count(terminated, "signal")
    if reason == "OOMKilled":
        said = "was killed for its memory (OOMKilled)"
    elif number:
        said = f"was ended by {SIGNALS.get(number, f'signal {number}')}{reason and f' ({reason})'}"
    else:
        said = f"ended with {code}{reason and f' ({reason})'}"
    message = " ".join(text(terminated, "message").split())
    when = "" if now is None else ago(text(terminated, "finishedAt"), now)
    return f"{said}{when and f' {when}'}{message and f': {message}'}"
