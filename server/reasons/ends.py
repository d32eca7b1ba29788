"""Why containers have ended and do not run, and why a pod that has ended stays. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from manifests.times import moment_of, parse_duration
from messages.units import Seconds, Timestamp
from server.reasons.known import PodCase, PodReason, ShownContainer, sentence
from stores.statuses.conditions import VOLUMES_RELEASED

SIGNALS: Final = {
    1: "SIGHUP",
    2: "SIGINT",
    6: "SIGABRT",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
LATELY: Final = Seconds(600.0)
"""So long a crash counts in the back-off of the next one."""
_MEND: Final = "Look at lifecycle.postStart of the container"
_RUNC: Final = "unable to start container process: "
"""Before it, runtimes say only through whom the container was to be started."""
_PAUSE: Final = re.compile(r"back-off (\S+)")
MOST_OF_A_MESSAGE: Final = 300
"""Characters of what a container said last. Its status has all of it."""

_OF_A_VOLUME: Final = re.compile(r'UnmountVolume\.TearDown failed for volume "([^"]*)" : ')
_ADVICE: Final = (
    "Have its driver unmount it, or do that yourself once nobody writes to it, and remove its directory: "
    "the pod goes then. docs/troubleshooting.md says how, under FailedUnmount"
)


def ends(case: PodCase, now: Timestamp) -> Iterator[PodReason]:
    """Yield a reason for each container that has failed and does not run, or has failed lately."""
    for each in case.containers():
        if each.waiting.get("reason") == "CrashLoopBackOff" and each.last:
            at = _again_at(each)
            when = "" if at is not None else " after a pause"
            then = f". It was restarted {_times(each)} so far, and will be again{when}"
            yield replace(_told(case, each, each.last, then), at=at)
        elif each.waiting.get("reason") == "PostStartHookError":
            yield PodReason(
                f"{sentence(each.who)} was ended: {_of_hook(each.waiting.get('message'))}",
                _MEND,
            )
        elif each.ended and each.ended.get("exitCode") != 0:
            yield _told(case, each, each.ended, _final(case))
        elif each.running and each.last.get("exitCode") and _is_lately(each.last, now):
            yield _told(case, each, each.last, _runs_again(each))


def _told(case: PodCase, container: ShownContainer, end: Mapping[str, Any], then: str) -> PodReason:
    cause, advice = _why(case, container, end)
    who = sentence(container.who)
    if cause:
        return PodReason(f"{who} was ended: {cause}{then}", advice)
    return PodReason(f"{who} {ending(end)}{then}", advice or _look_at_its_log(case, container))


def _again_at(container: ShownContainer) -> Timestamp | None:
    """Return when a container is started again: its pause began with its end. None if that is not known."""
    told = _PAUSE.match(str(container.waiting.get("message") or ""))
    ended = moment_of(container.last.get("finishedAt"))
    try:
        return Timestamp(ended + parse_duration(told[1])) if told and ended is not None else None
    except ValueError:
        return None


def _runs_again(container: ShownContainer) -> str:
    return f". It was restarted {_times(container)}, and runs again"


def _times(container: ShownContainer) -> str:
    count = int(container.status.get("restartCount") or 0)
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")


def _final(case: PodCase) -> str:
    if case.spec.get("restartPolicy") == "Never":
        return ". It is not started again: the pod's restartPolicy is Never"
    return ""


def _why(case: PodCase, container: ShownContainer, end: Mapping[str, Any]) -> tuple[str, str]:
    """Return what ended a container from outside, and what to do about how it ended."""
    probe = case.last_event(container.name, "Unhealthy", begins="Liveness") or case.last_event(
        container.name, "Unhealthy", begins="Startup"
    )
    killed = case.last_event(container.name, "Killing")
    if (
        killed is not None
        and probe is not None
        and "failed" in killed.message
        and _is_of(probe.last, end)
    ):
        kind, _, said = probe.message.partition(" probe failed: ")
        advice = f"Look at what the {kind.lower()} probe asks for, and whether its times suffice"
        return f"its {kind.lower()} probe failed: {said or probe.message}", advice
    hook = case.last_event(container.name, "FailedPostStartHook")
    if hook is not None and _is_of(hook.last, end):
        said = hook.message.removeprefix("PostStartHook failed: ")
        return _of_hook(said), _MEND
    return "", _by_its_code(container, end)


def _of_hook(said: object) -> str:
    return f"its postStart hook failed: {said}"


def _is_of(at: Timestamp, end: Mapping[str, Any]) -> bool:
    """Return whether something happened in the life that ended so, as far as its whole seconds say."""
    started = moment_of(end.get("startedAt"))
    finished = moment_of(end.get("finishedAt"))
    return (started is None or at >= started - 1) and (finished is None or at <= finished + 1)


def _is_lately(end: Mapping[str, Any], now: Timestamp) -> bool:
    finished = moment_of(end.get("finishedAt"))
    return finished is not None and now - finished < LATELY


def _by_its_code(container: ShownContainer, end: Mapping[str, Any]) -> str:
    if end.get("reason") == "OOMKilled":
        limit = ((container.spec.get("resources") or {}).get("limits") or {}).get("memory")
        of = f" (it is {limit})" if limit else ""
        return f"Raise the container's resources.limits.memory{of}, or let it use less"
    code = end.get("exitCode")
    if code in {126, 127}:
        said = "was not found" if code == 127 else "cannot be executed"
        return f"{code} says mostly that a program {said}: look at command and args"
    if end.get("reason") == "StartError":
        return "Look at command and args, and whether the image has that program"
    return ""


def _look_at_its_log(case: PodCase, container: ShownContainer) -> str:
    metadata = case.pod.get("metadata") or {}
    name = f"{case.namespace}/{metadata.get('name')}"
    previous = "" if container.ended else " -p"
    return f"actorlet logs {name} -c {container.name}{previous} shows what it wrote"


def ending(end: Mapping[str, Any]) -> str:
    """Return how a container ended: ``ended with code 3 (Error): what it said last``."""
    code, reason, signal = end.get("exitCode"), str(end.get("reason") or ""), end.get("signal")
    shown = f" ({reason})" if reason else ""
    if reason == "OOMKilled":
        said = "was killed since it used more memory than it may (OOMKilled)"
    elif reason == "StartError":
        said = "could not be started"
    elif signal:
        said = f"was ended by {SIGNALS.get(signal, f'signal {signal}')}{shown}"
    else:
        said = f"ended with code {code}{shown}"
    message = " ".join(str(end.get("message") or "").split()).rpartition(_RUNC)[2]
    if len(message) > MOST_OF_A_MESSAGE:
        message = f"… {message[-MOST_OF_A_MESSAGE:]}"
    return f"{said}: {message}" if message else said


def held(case: PodCase) -> Iterator[PodReason]:
    """Yield a reason for each volume for which the pod stays."""
    for condition in case.conditions:
        if condition.get("type") != VOLUMES_RELEASED or condition.get("status") != "False":
            continue
        before, *pieces = _OF_A_VOLUME.split(str(condition.get("message") or ""))
        if before := before.rstrip("; "):
            yield PodReason(
                f"It has ended, and its volumes cannot be taken away: {before}",
                "It is tried again, after pauses",
            )
        for volume, cause in zip(pieces[::2], pieces[1::2], strict=True):
            said = cause.rstrip("; ")
            yield PodReason(f"It has ended, and stays because of volume {volume}: {said}", _ADVICE)
