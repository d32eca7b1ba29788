"""Stories of what is shown while things happen. Each name says why all is fine."""

from __future__ import annotations

from typing import Any, Final

from messages.pods import FILE
from messages.sources import SourceDescribed
from messages.units import Timestamp
from tests.environment.oracle.shown import AddressStays, ErrorStays, NeverBack, NoSecret
from tests.environment.oracle.sources import LastListed
from tests.simulation.rules.by_hand import OneRule, Stories, shown
from tests.support.apiserver.paths import POD
from tests.support.canary import hidden

FAILED: Final = {"worker": (1, "it crashed")}


def a_final_phase_stays(world: OneRule, *, is_fine: bool) -> None:
    world.shows(phase="Failed")
    world.shows(phase="Failed" if is_fine else "Running")


def others_removed_what_a_sigkill_made_forgotten(world: OneRule, *, is_fine: bool) -> None:
    world.shows(phase="Succeeded", containerStatuses=[shown(world.starts())])
    world.is_touched()
    if is_fine:
        world.kills_agent()
    world.shows(phase="Failed")


def others_removed_it_after_it_began(world: OneRule, *, is_fine: bool) -> None:
    if not is_fine:
        world.is_touched()
    world.shows(phase="Succeeded", containerStatuses=[shown(world.starts())])
    if is_fine:
        world.is_touched()
    world.kills_agent()
    world.shows(phase="Failed")


def nobody_wanted_it_before_a_sigkill(world: OneRule, *, is_fine: bool) -> None:
    world.unwants()
    world.shows(phase="Succeeded")
    if is_fine:
        world.wishes.killed_at = world.now - 0.05  # what it showed came later
    world.shows(phase="Failed")


def the_disk_had_refused_to_record_it(world: OneRule, *, is_fine: bool) -> None:
    world.shows(phase="Succeeded")
    if is_fine:
        world.wishes.note_disk_failure()
    world.kills_agent()
    world.shows(phase="Pending")


def refuses(world: OneRule, *, is_told: bool) -> None:
    """Have the agent refuse a pod of the API server."""
    pod = world.wants(is_bound=True)
    world.shows(phase="Failed")
    if is_told:
        world.changes(POD, pod.document, {**pod.document, "status": {"phase": "Failed"}})


def a_refusal_was_not_told_yet(world: OneRule, *, is_fine: bool) -> None:
    refuses(world, is_told=not is_fine)
    world.kills_agent()
    world.shows(phase="Running")


def the_agent_that_refused_it_is_gone(world: OneRule, *, is_fine: bool) -> None:
    refuses(world, is_told=False)
    if is_fine:
        world.kills_agent()
    world.shows(phase="Running")


def counts(world: OneRule, *restarts: int) -> None:
    """Have these restarts shown, one after the other."""
    for each in restarts:
        world.shows(phase="Running", containerStatuses=[{"name": "main", "restartCount": each}])


def restarts_are_counted_up(world: OneRule, *, is_fine: bool) -> None:
    counts(world, 2, 3 if is_fine else 1)


def others_have_touched_the_pod(world: OneRule, *, is_fine: bool) -> None:
    if not is_fine:
        world.is_touched()
    one = shown(world.starts(), restartCount=2)
    world.shows(phase="Running", containerStatuses=[one])
    if is_fine:
        world.is_touched()
    counts(world, 1)


def nobody_wanted_what_it_counts(world: OneRule, *, is_fine: bool) -> None:
    counts(world, 2)
    if is_fine:
        world.unwants()
    world.kills_agent()
    counts(world, 1)


def an_address_stays(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    world.shows(podIP="10.0.0.1")
    world.shows(podIP="10.0.0.2" if is_fine else "")


def it_was_shown_by_an_agent_before(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    world.shows(podIP="10.0.0.1")
    if is_fine:
        world.kills_agent()
    world.shows()


def nobody_wants_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    world.shows(podIP="10.0.0.1")
    if is_fine:
        world.unwants()
    world.shows()


def a_class_runs_anew_what_it_has_lost(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.restarts_containers = not is_fine
    world.wants()
    world.shows(podIP="10.0.0.1")
    world.is_touched()
    world.shows()


def the_last_error_stays(world: OneRule, *, is_fine: bool) -> None:
    world.rule.fails(FAILED)
    world.rule.fails({"worker": (2, "it crashed" if is_fine else "")})


def the_agent_is_another(world: OneRule, *, is_fine: bool) -> None:
    world.rule.fails(FAILED)
    if is_fine:
        world.kills_agent()
    world.rule.fails({"worker": (2, "")})


def the_actor_is_another(world: OneRule, *, is_fine: bool) -> None:
    world.rule.fails(FAILED)
    world.rule.fails({"worker": (1 if is_fine else 2, "")})


def it_was_gone_meanwhile(world: OneRule, *, is_fine: bool) -> None:
    world.rule.fails(FAILED)
    world.rule.fails({} if is_fine else FAILED)
    world.rule.fails({"worker": (2, "")})


def no_value_is_in_a_status(world: OneRule, *, is_fine: bool) -> None:
    world.shows(message="harmless" if is_fine else hidden("keys-1"))


def describes(world: OneRule, listed_ago: float | None) -> None:
    """Have the source of files say so long ago it was listed last."""
    at = None if listed_ago is None else Timestamp(world.now - listed_ago)
    about: Any = {"ready": True, "epoch": 1, "rejected": {}, "error": "", "manifests": ()}
    world.rule.describes({"file": SourceDescribed(name=FILE, last_listed=at, **about)})


def it_was_listed_before_the_outage(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.outages["file"] = world.now
    world.passes(60.0)
    describes(world, 59.0 if is_fine else 58.9)


def there_is_no_outage(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.outages["URL" if is_fine else "file"] = world.now
    world.passes(60.0)
    describes(world, 60.0)
    describes(world, 1.0)


def it_is_listed_again(world: OneRule, *, is_fine: bool) -> None:
    describes(world, 1.0)
    describes(world, 0.5 if is_fine else 1.5)


def the_next_agent_has_listed_nothing(world: OneRule, *, is_fine: bool) -> None:
    describes(world, 1.0)
    if is_fine:
        world.kills_agent()
    describes(world, None)


STORIES: Final[Stories] = {
    (NeverBack, "a-1 was "): (
        *(a_final_phase_stays, others_removed_what_a_sigkill_made_forgotten),
        others_removed_it_after_it_began,
        *(nobody_wanted_it_before_a_sigkill, the_disk_had_refused_to_record_it),
        *(a_refusal_was_not_told_yet, the_agent_that_refused_it_is_gone),
    ),
    (NeverBack, "main of a-1 had 2 restarts, now 1"): (
        *(restarts_are_counted_up, others_have_touched_the_pod, nobody_wanted_what_it_counts),
    ),
    (AddressStays, "a-1 shows no address any more"): (
        *(an_address_stays, it_was_shown_by_an_agent_before, nobody_wants_the_pod),
        a_class_runs_anew_what_it_has_lost,
    ),
    (ErrorStays, "worker does not show any more that it failed with it crashed"): (
        *(the_last_error_stays, the_agent_is_another, the_actor_is_another, it_was_gone_meanwhile),
    ),
    (NoSecret, "a value of a Secret is seen: a status"): (no_value_is_in_a_status,),
    (LastListed, "s into an outage"): (it_was_listed_before_the_outage, there_is_no_outage),
    (LastListed, "earlier than it said before"): (
        *(it_is_listed_again, the_next_agent_has_listed_nothing),
    ),
}
