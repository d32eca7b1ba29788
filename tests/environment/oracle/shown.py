"""Rules of what is shown while things happen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from tests.environment.oracle.rule import Rule
from tests.support.apiserver.history import Change
from tests.support.apiserver.paths import POD
from tests.support.canary import CANARY, Lookout

TERMINAL: Final = {"Succeeded", "Failed"}
UNKNOWN: Final[Mapping[str, Any]] = {"phase": ""}
"""A status that was not shown yet."""


class NeverBack(Rule):
    """A phase that is final stays, and restarts are never counted down.

    What was removed by others, and is forgotten because of a SIGKILL, has not been; nor has what the disk had
    refused to record before it. A pod that the Node refused is judged anew if the SIGKILL came before the API
    server knew of that. Restarts are not counted if others have touched the pod since the instance began that
    it was shown with.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._shown: dict[str, Mapping[str, Any]] = {}
        self._shown_at = 0.0
        self._told: set[str] = set()
        """UIDs of objects that showed a final phase at the API server once."""

    @override
    def changes(self, change: Change, *, is_agents: bool) -> None:
        if change.kind is POD and change.after.get("status", {}).get("phase") in TERMINAL:
            self._told.add(change.after["metadata"]["uid"])

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        for uid, status in statuses.items():
            self._look_at(uid, self._shown.get(uid, UNKNOWN), status)
        self._shown.update(statuses)
        self._shown_at = self.wishes.now()

    def _look_at(self, uid: str, before: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        phase, is_forgotten = before["phase"], self._is_forgotten(uid, before)
        if phase in TERMINAL and self.judges(unless=is_forgotten) and status["phase"] != phase:
            self.broken(f"{uid} was {phase} and is {status['phase']}")
        shown_before = {each["name"]: each for each in before.get("containerStatuses", ())}
        for one in status.get("containerStatuses", ()):
            self._look_at_restarts(uid, shown_before.get(one["name"], one), one)

    def _look_at_restarts(
        self, uid: str, before: Mapping[str, Any], one: Mapping[str, Any]
    ) -> None:
        had = before["restartCount"]
        # Somebody who removes containers takes the count with them.
        is_exempt = self.wishes.was_touched(uid, [before]) or self.wishes.is_forgotten(uid)
        if had and self.judges(unless=is_exempt) and one["restartCount"] < had:
            self.broken(f"{one['name']} of {uid} had {had} restarts, now {one['restartCount']}")

    def _is_forgotten(self, uid: str, before: Mapping[str, Any]) -> bool:
        """Return whether nobody can know any more how a pod was shown before."""
        wishes, was_killed = self.wishes, self.wishes.killed_at >= self._shown_at
        shown = before.get("containerStatuses", ())
        is_untold = uid in wishes.bound and uid not in self._told
        is_refusal_lost = before["phase"] == "Failed" and not shown and is_untold
        is_lost = wishes.was_touched(uid, shown) or is_refusal_lost
        return (
            (was_killed and is_lost)
            or wishes.is_forgotten(uid)
            or wishes.is_unrecorded(uid, self._shown_at)
        )


class AddressStays(Rule):
    """A pod whose address was shown goes on to have one, in each life of the agent.

    Not one that a class has lost, and is asked to run anew: as long as the class calls it Pending, it has
    told no address of what it runs, and only the record knows that of what is gone.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._shown: dict[str, float] = {}

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        for uid, status in statuses.items():
            address, was_shown = status.get("podIP"), uid in self._shown
            if was_shown and self.judges(unless=not self._should_have(uid)) and not address:
                self.broken(f"{uid} shows no address any more")
            if address:
                self._shown[uid] = self.wishes.now()

    def _should_have(self, uid: str) -> bool:
        is_begun_anew = not self.runtime.restarts_containers and self.wishes.touched.since(uid)
        is_known = self._shown[uid] > self.wishes.killed_at
        return is_known and self.wishes.wants(uid) and not is_begun_anew


class ErrorStays(Rule):
    """What an actor failed with last is shown as long as it is there, however its later lives end.

    An agent that begins knows nothing of the errors of the one before. An actor that was gone meanwhile, such
    as the worker of a pod, is another one: it was not started again more often.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._errors: dict[str, tuple[int, str]] = {}
        self._kills = 0

    @override
    def fails(self, errors: Mapping[str, tuple[int, str]]) -> None:
        before = self._errors if self._kills == self.wishes.kills else {}
        for name, (restarts, error) in errors.items():
            restarts_before, error_before = before.get(name, (0, ""))
            is_again = error_before and restarts > restarts_before
            if is_again and self.judges() and not error:
                self.broken(f"{name} does not show any more that it failed with {error_before}")
        self._errors, self._kills = dict(errors), self.wishes.kills


class NoSecret(Rule):
    """No value of a Secret is in what is shown."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._lookout = Lookout(CANARY)

    @override
    def shows(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        self.judges()
        self._lookout.look("a status", repr(statuses))
        for sighting in self._lookout.sightings():
            self.broken(f"a value of a Secret is seen: {sighting}")
