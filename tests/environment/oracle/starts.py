"""Rules of what may start, and when."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any, Final

from typing_extensions import override

from tests.environment.machine import Instance
from tests.environment.oracle.rule import Rule, is_sidecar

IN_FLIGHT: Final = 1.0
"""Seconds for which a call may be under way that was made before a wish changed."""
FIRST_PAUSE: Final = 10.0
FORGIVEN_AFTER: Final = 600.0
"""Seconds of running after which earlier exits are forgotten."""
LATE: Final = 20.0
"""Seconds by which a restart may be late that nothing hinders."""
CALM: Final = 60.0
"""Seconds since the last trouble, after which nothing of it is left."""
LOST_CALL: Final = 130.0
"""Seconds after which a call that got lost was made again: it has 120 s."""
NEVER: Final = Instance("", "", "", "", "", -1, -math.inf, -math.inf, 0)
"""What was there before the first instance."""


class OneInstance(Rule):
    """A container has one instance that lives, and each attempt is used once.

    If others have touched the pod since the last attempt began, it is not looked at: who restarts counts what
    is left.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._last: dict[tuple[str, str], Instance] = {}

    @override
    def starts(self, one: Instance) -> None:
        key = one.uid, one.name
        for other in self.runtime.live():
            if other.id != one.id and (other.uid, other.name) == key:
                self.broken(f"{one.name} of {one.uid} lives twice")
        last = self._last.get(key, NEVER)
        is_touched = self.wishes.touched.since(one.uid, last.started_at)
        if self.judges(unless=is_touched) and one.attempt <= last.attempt:
            self.broken(f"attempt {one.attempt} of {one.name} of {one.uid} is used twice")
        self._last[key] = one


class OneName(Rule):
    """Of static pods with one name one runs: the next begins when nothing of the one before runs any more.

    Of the API server's pods two may, as on a kubelet: one that was deleted by force still ends. So may one
    that outlived the agent, if the class that runs it tells nonsense of it: nobody knows its name.
    """

    @override
    def starts(self, one: Instance) -> None:
        name = self._name(one)
        if not name:
            return
        others = {other.uid for other in self.runtime.live() if self._name(other) == name}
        unknown = others & self.runtime.unnamed
        known = sorted(others - unknown - {one.uid})
        if self.judges(unless=bool(unknown) and not known):
            for uid in known:
                self.broken(f"{one.uid} starts while {uid} runs under its name")

    def _name(self, one: Instance) -> str:
        """Return the full name of a static pod; empty for another one."""
        pod = self.wishes.pods.get(one.uid)
        return str(pod.full_name) if pod is not None and one.uid not in self.wishes.bound else ""


class Wanted(Rule):
    """Nothing starts that nobody wants.

    What was asked of the runtime within a second after the agent knew may start, and anything while a
    source cannot be read.
    """

    @override
    def starts(self, one: Instance) -> None:
        wishes, asked_at = self.wishes, one.asked_at or self.wishes.now()
        is_wanted = one.uid not in wishes.unwanted_at
        since = wishes.known_since(wishes.unwanted_at.get(one.uid, asked_at))
        if self.judges(unless=not is_wanted and asked_at - since <= IN_FLIGHT) and not is_wanted:
            self.broken(f"{one.name} of {one.uid} starts though nobody wants the pod")


class MeantImage(Rule):
    """A container that starts is made of what its image means then, or means where it is pulled from.

    Not if the container was created before the name had meant that for a second, and not within 130 s after
    trouble: what creates it may be a call that got lost, for which the agent waits for 120 s.
    """

    @override
    def starts(self, one: Instance) -> None:
        policy = self.wishes.container(one.uid, one.name).get("imagePullPolicy")
        meant, since = self.runtime.meaning(one.image, is_pulled=policy == "Always")
        now = self.wishes.now()
        is_old = (one.created_at or now) - since > IN_FLIGHT
        is_late = is_old and now - self.wishes.troubled_at > LOST_CALL
        if meant and self.judges(unless=not is_late) and one.image_id != meant:
            self.broken(
                f"{one.name} of {one.uid} starts with {one.image_id[-4:]}, not {meant[-4:]}"
            )


class InitFirst(Rule):
    """A container starts when each init container before it has succeeded in the same sandbox.

    Each sidecar before it has started there, and its startup probe has passed.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._succeeded: set[tuple[str, str]] = set()
        self._started: set[tuple[str, str]] = set()

    @override
    def ends(self, one: Instance) -> None:
        if one.exit_code == 0:
            self._succeeded.add((one.sandbox, one.name))

    @override
    def answers(self, one: Instance, what: str, *, is_yes: bool) -> None:
        if what == "started" and is_yes:
            self._started.add((one.sandbox, one.name))

    @override
    def starts(self, one: Instance) -> None:
        inits = [(each["name"], is_sidecar(each)) for each in self.wishes.inits(one.uid)]
        names = [name for name, _ in inits]
        before = inits[: names.index(one.name)] if one.name in names else inits
        for name, is_to_stay in before:
            done = self._started if is_to_stay else self._succeeded
            if self.judges() and (one.sandbox, name) not in done:
                self.broken(f"{one.name} of {one.uid} starts before {name}, which is not done")
        if not self.wishes.probe(one, "started"):
            self._started.add((one.sandbox, one.name))


class Policy(Rule):
    """What has ended starts again only if the restart policy says so.

    A sidecar always does. In a new sandbox a pod begins anew, and so does a container with another image. If
    others have touched the pod since what ended began, nothing is said.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._ended: dict[tuple[str, str], Instance] = {}

    @override
    def ends(self, one: Instance) -> None:
        self._ended[one.uid, one.name] = one

    @override
    def starts(self, one: Instance) -> None:
        last = self._ended.get((one.uid, one.name))
        if last is None or last.sandbox != one.sandbox or last.image != one.image:
            return
        policy = self.wishes.spec(one.uid).get("restartPolicy", "Always")
        is_touched = self.wishes.touched.since(one.uid, last.started_at)
        stays = is_sidecar(self.wishes.container(one.uid, one.name))
        if policy == "Always" or stays or not self.judges(unless=is_touched):
            return
        if policy == "Never" or last.exit_code == 0:
            self.broken(f"{one.name} of {one.uid} starts again: {policy}, {last.exit_code}")


class BackOff(Rule):
    """The first restart is at once, each further one 10 s, 20 s, to 300 s after the exit.

    What is configured as the longest pause takes the place of 300 s.
    A start that failed is an exit, too: there may have been one that nobody sees on the machine, while
    calls failed. Another image begins anew. Ten minutes of running since the last restart forgive earlier
    exits. Of a pod that lived through a SIGKILL of the agent nothing is said: what was waited for is guessed
    then. The same holds for a pod that has an image again which it had before. Exits of what began before
    others touched the pod may count or not. A start may be 20 s late, and any time within a minute after
    trouble.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._past: dict[tuple[str, str], list[Instance]] = defaultdict(list)
        self._edits: Counter[tuple[str, str]] = Counter()

    @override
    def ends(self, one: Instance) -> None:
        past = self._past[one.uid, one.name]
        if past and past[-1].image != one.image:
            self._edits[one.uid, one.name] += 1
            del past[:-1]  # the start with another image was the first restart
        past.append(one)

    @override
    def starts(self, one: Instance) -> None:
        wishes, past = self.wishes, self._past[one.uid, one.name]
        if not past or past[-1].image != one.image:
            return
        known = [each for each in past if not wishes.touched.since(one.uid, each.started_at)]
        if not self.judges(unless=not known or not self._is_known(one, known)):
            return
        waited = wishes.now() - past[-1].finished_at
        least = most = pause_after(known, wishes.longest_pause)
        if wishes.troubled_at > known[0].started_at - CALM:
            most = min(wishes.longest_pause, least * 2 or FIRST_PAUSE)
        if known != past:
            most = wishes.longest_pause
        is_late = waited > most + LATE and wishes.now() - wishes.troubled_at > CALM + waited
        if waited < least - 0.1 or is_late:
            self.broken(
                f"{one.name} of {one.uid} starts {waited:.1f} s after its exit, not {least:.0f}"
            )

    def _is_known(self, one: Instance, past: list[Instance]) -> bool:
        is_same = all(each.sandbox == one.sandbox for each in past)
        was_killed = self.wishes.killed_at >= past[0].started_at
        return self._edits[one.uid, one.name] <= 1 and is_same and not was_killed


def pause_after(past: list[Instance], longest: float) -> float:
    """Return how long the next restart waits after the last of these exits."""
    pause = waits = 0.0
    for each in past:
        if each.finished_at - each.started_at > FORGIVEN_AFTER:
            pause = 0.0
        waits, pause = pause, min(longest, pause * 2 or FIRST_PAUSE)
    return waits
