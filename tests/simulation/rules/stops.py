"""Stories of what may be stopped, and how. Each name says why all is fine."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.environment.oracle.stops import AfterHook, GraceShrinks, OthersStay, StopWanted
from tests.simulation.rules.by_hand import EXEC, ONCE, OneRule, Stories, container

HOOKED: Final = container(lifecycle={"preStop": EXEC})
STARTED: Final = container(lifecycle={"postStart": EXEC})


def nobody_wants_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    if is_fine:
        world.unwants()
    world.stops(world.starts())


def another_image_is_wanted(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.wants(containers=[container(image="img:2" if is_fine else "img:1")])
    world.stops(one)


def others_have_touched_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    if not is_fine:
        world.is_touched()
    one = world.starts()
    if is_fine:
        world.is_touched()
    world.stops(one)


def it_was_active_for_as_long_as_it_may_be(world: OneRule, *, is_fine: bool) -> None:
    world.wants(activeDeadlineSeconds=60)
    one = world.starts()
    world.passes(60.0 if is_fine else 58.0)
    world.stops(one)


def the_agent_may_not_know_of_an_edit(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    one = world.starts()
    world.wants()
    world.passes(0.9 if is_fine else 1.1)
    world.stops(one)


def it_began_before_the_edit(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    one = world.starts(started_at=world.now + (0.0 if is_fine else 0.1))
    world.wants()
    world.passes(0.5)
    world.stops(one)


def a_source_cannot_be_read(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    one = world.starts()
    world.wants()
    world.passes(60.0)
    if is_fine:
        world.wishes.outages["file"] = world.now
    world.stops(one)


def the_hook_was_called_before_it_was_edited_back(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    one = world.starts()
    world.wants(containers=[HOOKED if is_fine else container()])
    world.passes(60.0)
    world.stops(one)


def a_sidecar_has_nobody_left(world: OneRule, *, is_fine: bool) -> None:
    side = container("side", restartPolicy="Always")
    world.wants(initContainers=[side], restartPolicy="OnFailure")
    sidecar, regular = world.starts("side"), world.starts()
    if is_fine:
        world.ends(regular)
    world.stops(sidecar)


def its_pod_does_not_always_restart(world: OneRule, *, is_fine: bool) -> None:
    policy = "OnFailure" if is_fine else "Always"
    world.wants(initContainers=[container("side", restartPolicy="Always")], restartPolicy=policy)
    world.stops(world.starts("side"))


def it_does_not_live(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[container(livenessProbe=ONCE)])
    one = world.starts()
    world.answers(one, "alive", is_yes=not is_fine)
    world.stops(one)


def its_hook_has_failed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STARTED])
    one = world.starts()
    world.hook_ends(one, "postStart", is_success=not is_fine)
    world.stops(one)


def its_hook_may_have_failed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STARTED])
    one = world.starts()
    world.hook_ends(one, "postStart")
    world.wishes.troubled_at = world.now - (0.0 if is_fine else 1.0)
    world.stops(one)


def the_end_is_not_put_off(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 10.0)
    world.passes(4.0)
    world.stops(one, 7.0 if is_fine else 7.1)


def a_call_is_carried_out_late(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 10.0)
    world.passes(4.0)
    world.stops(replace(one, asked_at=world.now - (4.0 if is_fine else 2.0)), 10.0)


def the_least_grace_stays(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 0.0)
    world.stops(one, 2.0 if is_fine else 2.1)


def so_does_that_after_a_hook(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[HOOKED])
    one = world.starts()
    world.stops(one, 0.0)
    world.stops(one, 3.0 if is_fine else 3.1)


def the_next_agent_stops_anew(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 5.0)
    if is_fine:
        world.kills_agent()
    world.stops(one, 30.0)


def its_grace_is_over(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 5.0)
    world.passes(5.0 if is_fine else 4.9)
    world.rule.is_killed(one)


def two_seconds_are_left(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[HOOKED])
    world.stops(world.starts(), 2.0 if is_fine else 1.9)


def it_has_no_hook(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[container() if is_fine else HOOKED])
    world.stops(world.starts(), 1.0)


def others_have_ended_something(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[HOOKED])
    if not is_fine:
        world.is_touched()
    one = world.starts()
    if is_fine:
        world.is_touched()
    world.stops(one, 0.0)


def the_next_agent_knows_no_hook(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.knows_hooks = not is_fine
    world.wants(containers=[HOOKED])
    one = world.starts()
    world.unwants()
    world.wishes.killed_at = world.now
    world.stops(one, 0.0)


def the_next_agent_knows_of_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.knows_hooks = False
    world.wants(containers=[HOOKED])
    one = world.starts()
    world.wishes.killed_at = world.now
    world.passes(1.0)
    world.unwants()
    world.stops(one, 2.0 if is_fine else 1.9)


def it_stays(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.strangers = {"it": "runs"}
    world.rule.moves()
    world.runtime.strangers = {"it": "runs"} if is_fine else {}
    world.rule.moves()


def the_power_goes(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.strangers = {"it": "runs"}
    world.rule.moves()
    world.runtime.strangers = {"it": "ended"}
    if is_fine:
        world.rule.loses_power()
    world.rule.moves()


STORIES: Final[Stories] = {
    (StopWanted, "is stopped though it is wanted"): (
        *(nobody_wants_the_pod, another_image_is_wanted, others_have_touched_the_pod),
        *(the_agent_may_not_know_of_an_edit, it_began_before_the_edit, a_source_cannot_be_read),
        *(the_hook_was_called_before_it_was_edited_back, a_sidecar_has_nobody_left),
        *(
            its_pod_does_not_always_restart,
            it_does_not_live,
            its_hook_has_failed,
            its_hook_may_have_failed,
            it_was_active_for_as_long_as_it_may_be,
        ),
    ),
    (GraceShrinks, "the grace of main of a-1 grows to"): (
        *(the_end_is_not_put_off, the_least_grace_stays, so_does_that_after_a_hook),
        *(the_next_agent_stops_anew, a_call_is_carried_out_late),
    ),
    (GraceShrinks, "is killed before its grace is over"): (its_grace_is_over,),
    (AfterHook, "s after its hook"): (
        *(two_seconds_are_left, it_has_no_hook, others_have_ended_something),
        *(the_next_agent_knows_no_hook, the_next_agent_knows_of_the_pod),
    ),
    (OthersStay, "which is nobody's, is"): (it_stays, the_power_goes),
}
