"""Stories of what may start. Each name says why all is fine."""

from __future__ import annotations

from typing import Any, Final

from tests.environment.oracle.starts import (
    BackOff,
    InitFirst,
    MeantImage,
    OneInstance,
    OneName,
    Policy,
    Wanted,
)
from tests.simulation.rules.by_hand import ONCE, OneRule, Stories, container

INIT, SIDECAR = container("init"), container("side", restartPolicy="Always")
PROBED = container("side", restartPolicy="Always", startupProbe=ONCE)


def the_one_before_has_ended(world: OneRule, *, is_fine: bool) -> None:
    before = world.starts()
    if is_fine:
        world.ends(before)
    world.starts(attempt=1)


def the_next_has_another_number(world: OneRule, *, is_fine: bool) -> None:
    world.runs(1.0)
    world.starts(attempt=int(is_fine))


def others_have_removed_the_last(world: OneRule, *, is_fine: bool) -> None:
    if not is_fine:
        world.is_touched()
    world.runs(1.0)
    if is_fine:
        world.is_touched()
    world.starts(attempt=0)


def the_pod_before_has_ended(world: OneRule, *, is_fine: bool) -> None:
    world.wants("a-1")
    world.wants("a-2")
    before = world.starts(uid="a-1")
    if is_fine:
        world.ends(before)
    world.starts(uid="a-2")


def both_are_of_the_api_server(world: OneRule, *, is_fine: bool) -> None:
    for uid in ("a-1", "a-2"):
        world.wants(uid, is_bound=is_fine)
        world.starts(uid=uid)


def nobody_has_told_whose_it_is(world: OneRule, *, is_fine: bool) -> None:
    if is_fine:
        world.runtime.unnamed.add("a-1")
    for uid in ("a-1", "a-2"):
        world.wants(uid)
        world.starts(uid=uid)


def somebody_wants_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    if not is_fine:
        world.unwants()
    world.passes(60.0)
    world.starts()


def it_was_asked_for_within_a_second(world: OneRule, *, is_fine: bool) -> None:
    world.unwants()
    asked_at = world.now + (0.9 if is_fine else 1.1)
    world.passes(60.0)
    world.starts(asked_at=asked_at)


def a_source_cannot_be_read(world: OneRule, *, is_fine: bool) -> None:
    world.unwants()
    world.passes(60.0)
    if is_fine:
        world.wishes.outages["file"] = world.now
    world.starts()


def the_image_is_what_its_name_means(world: OneRule, *, is_fine: bool) -> None:
    world.wants()
    world.runtime.meant = {False: ("sha:new", 0.0), True: ("sha:other", 0.0)}
    world.starts(image_id="sha:new" if is_fine else "sha:other")


def the_image_is_what_its_registry_means(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[container(imagePullPolicy="Always")])
    world.runtime.meant = {False: ("sha:new", 0.0), True: ("sha:other", 0.0)}
    world.starts(image_id="sha:other" if is_fine else "sha:new")


def the_name_has_just_come_to_mean_it(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.meant = {False: ("sha:new", world.now - (0.9 if is_fine else 1.1))}
    world.starts(image_id="sha:old")


def it_was_created_before_that(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.meant = {False: ("sha:new", world.now - 240.0)}
    created_at = world.now - (239.5 if is_fine else 238.5)
    world.starts(image_id="sha:old", created_at=created_at)


def a_call_may_have_got_lost(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.troubled_at = world.now - (129.0 if is_fine else 131.0)
    world.runtime.meant = {False: ("sha:new", 0.0)}
    world.starts(image_id="sha:old")


def the_init_container_has_succeeded(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[INIT])
    world.runs(1.0, exit_code=int(not is_fine), name="init")
    world.starts()


def it_has_succeeded_in_this_sandbox(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[INIT])
    world.runs(1.0, name="init", sandbox="s-1" if is_fine else "s-0")
    world.starts()


def the_sidecar_has_started(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[SIDECAR])
    if is_fine:
        world.starts("side")
    world.starts()


def its_startup_probe_has_passed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[PROBED])
    world.answers(world.starts("side"), "started", is_yes=is_fine)
    world.starts()


def the_policy_is_always(world: OneRule, *, is_fine: bool) -> None:
    world.wants(restartPolicy="Always" if is_fine else "Never")
    world.runs(1.0, exit_code=1)
    world.starts()


def it_has_failed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(restartPolicy="OnFailure")
    world.runs(1.0, exit_code=int(is_fine))
    world.starts()


def it_is_a_sidecar(world: OneRule, *, is_fine: bool) -> None:
    stays = {"restartPolicy": "Always"} if is_fine else {}
    world.wants(restartPolicy="Never", initContainers=[container("side", **stays)])
    world.runs(1.0, name="side")
    world.starts(name="side")


def the_sandbox_is_new(world: OneRule, *, is_fine: bool) -> None:
    world.wants(restartPolicy="Never")
    world.runs(1.0)
    world.starts(sandbox="s-2" if is_fine else "s-1")


def the_image_is_another(world: OneRule, *, is_fine: bool) -> None:
    world.wants(restartPolicy="Never")
    world.runs(1.0)
    world.starts(image="img:2" if is_fine else "img:1")


def others_have_touched_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants(restartPolicy="Never")
    if not is_fine:
        world.is_touched()
    world.runs(1.0)
    if is_fine:
        world.is_touched()
    world.starts()


def restarts(world: OneRule, *pauses: float, **about: Any) -> None:
    """Have a container run for a second after each of these pauses, and start after the last."""
    for pause in pauses:
        world.runs(1.0, exit_code=1, **about)
        world.passes(pause)
    world.starts(**about)


def each_restart_waits_twice_as_long(world: OneRule, *, is_fine: bool) -> None:
    restarts(world, 0.0, 10.0, 20.0 if is_fine else 19.0)


def none_waits_longer_than_is_configured(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.longest_pause = 15.0 if is_fine else 20.0
    restarts(world, 0.0, 10.0, 15.0)


def none_is_later_than_20_s(world: OneRule, *, is_fine: bool) -> None:
    restarts(world, 0.0, 29.0 if is_fine else 31.0)


def there_was_trouble_within_a_minute(world: OneRule, *, is_fine: bool) -> None:
    world.runs(1.0)
    world.passes(100.0)
    world.wishes.troubled_at = world.now - (159.0 if is_fine else 162.0)
    world.starts()


def a_start_may_have_failed_that_nobody_saw(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.troubled_at = world.now - (59.0 if is_fine else 61.0)
    restarts(world, 0.0, 10.0, 45.0)


def ten_minutes_of_running_forgive(world: OneRule, *, is_fine: bool) -> None:
    restarts(world, 0.0, 10.0)
    world.passes(601.0 if is_fine else 599.0)
    world.ends_all()
    world.starts()


def another_image_begins_anew(world: OneRule, *, is_fine: bool) -> None:
    restarts(world, 0.0, 10.0)
    world.ends_all()
    world.starts(image="img:2" if is_fine else "img:1")


def the_pod_had_this_image_before(world: OneRule, *, is_fine: bool) -> None:
    for image in ("img:1", "img:2", "img:1") if is_fine else ("img:1", "img:2"):
        world.runs(1.0, image=image)
    world.starts(image=image)


def the_agent_was_killed(world: OneRule, *, is_fine: bool) -> None:
    world.runs(1.0)
    if is_fine:
        world.kills_agent()
    restarts(world, 0.0)


def others_touched_what_ended_before(world: OneRule, *, is_fine: bool) -> None:
    world.runs(1.0)
    if is_fine:
        world.is_touched()
    restarts(world, 0.0)


def what_began_since_counts_alone(world: OneRule, *, is_fine: bool) -> None:
    world.runs(1.0)
    world.is_touched()
    restarts(world, 0.0, 10.0 if is_fine else 9.0)


def what_ended_before_may_count(world: OneRule, *, is_fine: bool) -> None:
    world.wishes.longest_pause = 80.0 if is_fine else 70.0
    world.runs(1.0)
    world.is_touched()
    restarts(world, 0.0, 99.0)


STORIES: Final[Stories] = {
    (OneInstance, "lives twice"): (the_one_before_has_ended,),
    (OneInstance, "is used twice"): (the_next_has_another_number, others_have_removed_the_last),
    (OneName, "runs under its name"): (
        *(the_pod_before_has_ended, both_are_of_the_api_server, nobody_has_told_whose_it_is),
    ),
    (Wanted, "starts though nobody wants the pod"): (
        *(somebody_wants_the_pod, it_was_asked_for_within_a_second, a_source_cannot_be_read),
    ),
    (MeantImage, "main of a-1 starts with"): (
        *(the_image_is_what_its_name_means, the_image_is_what_its_registry_means),
        *(the_name_has_just_come_to_mean_it, it_was_created_before_that, a_call_may_have_got_lost),
    ),
    (InitFirst, "which is not done"): (
        *(the_init_container_has_succeeded, it_has_succeeded_in_this_sandbox),
        *(the_sidecar_has_started, its_startup_probe_has_passed),
    ),
    (Policy, "of a-1 starts again"): (
        *(the_policy_is_always, it_has_failed, it_is_a_sidecar, the_sandbox_is_new),
        *(the_image_is_another, others_have_touched_the_pod),
    ),
    (BackOff, "after its exit, not"): (
        *(each_restart_waits_twice_as_long, none_waits_longer_than_is_configured),
        *(none_is_later_than_20_s, there_was_trouble_within_a_minute),
        *(a_start_may_have_failed_that_nobody_saw, ten_minutes_of_running_forgive),
        *(another_image_begins_anew, the_pod_had_this_image_before),
        *(the_agent_was_killed, others_touched_what_ended_before),
        *(what_began_since_counts_alone, what_ended_before_may_count),
    ),
}
