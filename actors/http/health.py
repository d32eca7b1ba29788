"""Health, in the words of Kubernetes' own health endpoints: ``[+]name ok``, ``[-]name failed: ...``. Pure.

*Healthy* is about the agent's loops: the tree answers, PodManager answers, and no actor failed so
often that it is only tried at long intervals. *Ready* is about sources, each by itself: one that is
dead makes nobody else unready.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from actors.http.answers import Unanswered
from actors.http.cluster_state import ClusterState
from actors.kernel import ActorDescription
from actors.messages.sources import SourceDescribed
from actors.messages.units import Timestamp
from sources.local_objects import LOCAL_FILES

_SOURCE = "source/"

_MOST_ERRORS = 5
"""Of thousands of watches all fail for a few reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that is well or not."""

    name: str
    ok: bool
    text: str = ""


def answers(name: str, answer: object) -> Check:
    """Return a check for whether somebody who was asked did answer."""
    reason = answer.reason if isinstance(answer, Unanswered) else ""
    return Check(name=f"{name}/answers", ok=not reason, text=reason)


def loops(tree: Iterable[ActorDescription]) -> list[Check]:
    """Return a check for each actor. One that is being restarted is well: that is what restarts are for."""
    return [
        Check(name=actor.name, ok=actor.state != "failed", text=_loop_text(actor)) for actor in tree
    ]


def _loop_text(actor: ActorDescription) -> str:
    if actor.state == "running":
        return ""
    return f"{actor.state}: {actor.last_error}" if actor.last_error else actor.state


def readiness(sources: Iterable[SourceDescribed | Unanswered], now: Timestamp) -> list[Check]:
    """Return a check for each source: has it listed, and how long ago did it look."""
    return [_readiness(source, now) for source in sources]


def _readiness(source: SourceDescribed | Unanswered, now: Timestamp) -> Check:
    name = _SOURCE + source.name
    if isinstance(source, Unanswered):
        return Check(name=name, ok=False, text=source.reason)
    seen = (
        "not seen yet"
        if source.last_listed is None
        else f"seen {max(0.0, now - source.last_listed):.1f} s ago"
    )
    text = f"{seen}, {source.error}" if source.error else seen
    return Check(name=name, ok=source.ready, text=text)


def api_server(state: ClusterState) -> Check:
    """Return a check for how we get on with the API server: which it is, as whom, and what is wrong."""
    calls = state.calls
    shown = list(islice(_each_once(_errors(state)), _MOST_ERRORS))
    if shown:
        return Check(name="api-server", ok=False, text="; ".join(shown))
    if isinstance(calls, Unanswered) or not calls.server:
        return Check(name="api-server", ok=True)
    return Check(name="api-server", ok=True, text=f"{calls.server} as {calls.user}")


def _errors(state: ClusterState) -> Iterator[str]:
    calls, watches = state.calls, state.watches
    yield from (each.reason for each in (calls, watches) if isinstance(each, Unanswered))
    if not isinstance(calls, Unanswered):
        yield from calls.troubles
    if not isinstance(watches, Unanswered):
        yield from (watch.error for watch in watches.watches if watch.error)


def _each_once(errors: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for error in errors:
        if error not in seen:
            seen.add(error)
            yield error


def is_ready(checks: Sequence[Check]) -> bool:
    """Return whether the agent serves anything: a source has listed, or there is none to wait for.

    Local objects are nothing by themselves: they count where there is no source of pods.
    """
    of_pods = [check for check in checks if check.name != _SOURCE + LOCAL_FILES]
    return not checks or any(check.ok for check in of_pods or checks)


def report(checks: Iterable[Check], name: str, *, ok: bool) -> str:
    """Return the text of a ``?verbose`` answer, or of one that is not well."""
    lines = [f"[{'+' if check.ok else '-'}]{check.name} {_verdict(check)}" for check in checks]
    return "\n".join([*lines, f"{name} check {'passed' if ok else 'failed'}", ""])


def _verdict(check: Check) -> str:
    word = "ok" if check.ok else "failed"
    return f"{word}: {check.text}" if check.text else word
