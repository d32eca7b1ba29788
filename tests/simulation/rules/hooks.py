"""Stories of when hooks are called, and of what waits for them. Each name says why all is fine."""

from __future__ import annotations

from typing import Any, Final

from tests.environment.oracle.hooks import HookOnce, PostStartFirst, PreStopFirst
from tests.simulation.rules.by_hand import EXEC, ONCE, OneRule, Stories, container, shown

FIRST: Final = container("first", lifecycle={"postStart": EXEC})
SIDECAR: Final = container("side", restartPolicy="Always", lifecycle={"postStart": EXEC})
STOPPED: Final = container(lifecycle={"preStop": EXEC})


def it_is_called_for_another_instance(world: OneRule, *, is_fine: bool) -> None:
    first = world.starts()
    second = world.starts() if is_fine else first
    world.rule.calls_hook(first, "preStop")
    world.rule.calls_hook(second, "preStop")


def the_next_agent_calls_it_once_more(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.rule.calls_hook(one, "preStop")
    world.passes(1.0)
    if is_fine:
        world.kills_agent()
    world.rule.calls_hook(one, "preStop")


def it_started_after_the_sigkill(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.passes(-1.0 if is_fine else 1.0)
    world.kills_agent()
    world.rule.calls_hook(one, "postStart")


def its_hook_has_ended(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[FIRST])
    one = world.starts("first")
    if is_fine:
        world.hook_ends(one, "postStart")
    world.shows(containerStatuses=[shown(one)])


def it_is_not_shown_yet(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[FIRST])
    one = world.starts("first")
    state: dict[str, Any] = {"waiting": {}} if is_fine else {"running": {}}
    world.writes(containerStatuses=[shown(one, state=state, ready=False)])


def it_was_found_running(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[FIRST])
    one = world.starts("first")
    if is_fine:
        world.kills_agent()
    world.shows(containerStatuses=[shown(one)])


def it_is_asked_after_its_hook(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[{**FIRST, "livenessProbe": ONCE}])
    one = world.starts("first")
    if is_fine:
        world.hook_ends(one, "postStart")
    world.answers(one, "alive")


def the_hook_before_it_has_failed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[FIRST, container()])
    one = world.starts("first")
    if is_fine:
        world.hook_ends(one, "postStart", is_success=False)
    world.starts()


def the_hook_before_it_may_have_ended(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[FIRST, container()])
    world.starts("first")
    world.wishes.troubled_at = world.now - (0.0 if is_fine else 1.0)
    world.starts()


def it_is_in_front(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[container(), FIRST] if is_fine else [FIRST, container()])
    world.starts("first")
    world.starts()


def the_hook_of_the_sidecar_has_succeeded(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[SIDECAR])
    world.hook_ends(world.starts("side"), "postStart", is_success=is_fine)
    world.starts()


def the_hook_of_the_sidecar_had_succeeded(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[SIDECAR])
    before = world.starts("side", sandbox="s-1" if is_fine else "s-0")
    world.hook_ends(before, "postStart")
    world.ends(before)
    world.starts("side")
    world.starts()


def a_regular_container_was_started(world: OneRule, *, is_fine: bool) -> None:
    world.wants(initContainers=[SIDECAR])
    world.ends(world.starts(sandbox="s-1" if is_fine else "s-0"))
    world.starts("side")
    world.starts()


def the_last_hook_has_ended(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STOPPED], terminationGracePeriodSeconds=30)
    one = world.starts()
    world.rule.calls_hook(one, "preStop")
    if is_fine:
        world.hook_ends(one, "preStop")
    world.stops(one)


def it_had_the_grace_of_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STOPPED], terminationGracePeriodSeconds=30)
    one = world.starts()
    world.rule.calls_hook(one, "preStop")
    world.passes(30.0 if is_fine else 29.0)
    world.stops(one)


def it_had_the_grace_of_a_probe(world: OneRule, *, is_fine: bool) -> None:
    probe = {**ONCE, "terminationGracePeriodSeconds": 10 if is_fine else 12}
    world.wants(containers=[{**STOPPED, "livenessProbe": probe}], terminationGracePeriodSeconds=30)
    one = world.starts()
    world.rule.calls_hook(one, "preStop")
    world.passes(11.0)
    world.stops(one)


def others_have_touched_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STOPPED], terminationGracePeriodSeconds=30)
    if not is_fine:
        world.is_touched()
    one = world.starts()
    if is_fine:
        world.is_touched()
    world.stops(one)


def there_was_trouble(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[STOPPED], terminationGracePeriodSeconds=30)
    world.wishes.troubled_at = world.now - (90.0 if is_fine else 91.0)
    world.stops(world.starts())


STORIES: Final[Stories] = {
    (HookOnce, "is called twice"): (
        *(it_is_called_for_another_instance, the_next_agent_calls_it_once_more),
    ),
    (HookOnce, "and it was found running"): (it_started_after_the_sigkill,),
    (PostStartFirst, "before its hook"): (
        *(
            its_hook_has_ended,
            it_is_not_shown_yet,
            it_was_found_running,
            it_is_asked_after_its_hook,
        ),
    ),
    (PostStartFirst, "starts before the hook of"): (
        *(the_hook_before_it_has_failed, the_hook_before_it_may_have_ended, it_is_in_front),
        *(the_hook_of_the_sidecar_has_succeeded, the_hook_of_the_sidecar_had_succeeded),
        a_regular_container_was_started,
    ),
    (PreStopFirst, "is stopped before its preStop has ended"): (
        *(the_last_hook_has_ended, it_had_the_grace_of_the_pod, it_had_the_grace_of_a_probe),
        *(others_have_touched_the_pod, there_was_trouble),
    ),
}
