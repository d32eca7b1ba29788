"""Stories of hollow pods, and of a class of somebody's own. Each name says why all is fine."""

from __future__ import annotations

from typing import Final

from runtimes.hollow.behaviours import PREFIX
from tests.environment.oracle.runtimes import AT_A_TIME, AsAnnotated, CalledInOrder, Outlives
from tests.simulation.rules.by_hand import OneRule, Stories

RUNS: Final = {f"{PREFIX}run-for.main": "5s-6s", f"{PREFIX}exits.main": "3,4"}


def it_runs_as_long_as_it_says(world: OneRule, *, is_fine: bool) -> None:
    world.wants(annotations=RUNS)
    world.runs(6.0 if is_fine else 6.2, exit_code=3)


def it_exits_with_what_it_says(world: OneRule, *, is_fine: bool) -> None:
    world.wants(annotations=RUNS)
    world.runs(5.0, exit_code=4 if is_fine else 3, attempt=7)


def its_sandbox_dies_by_itself(world: OneRule, *, is_fine: bool) -> None:
    world.wants(annotations=RUNS | ({f"{PREFIX}sandbox-dies-after": "1s"} if is_fine else {}))
    world.runs(1.0, exit_code=3)


def it_ends_within_its_grace(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 5.0)
    world.passes(5.1 if is_fine else 5.2)
    world.ends(one)


def the_stop_may_not_be_on_record(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 5.0)
    world.rule.loses(one.uid)
    if is_fine:
        world.kills_agent()
    world.passes(10.0)
    world.ends(one)


def it_was_on_record(world: OneRule, *, is_fine: bool) -> None:
    one = world.starts()
    world.stops(one, 5.0)
    if is_fine:
        world.rule.loses(one.uid)
    world.kills_agent()
    world.passes(10.0)
    world.ends(one)


def the_record_brings_it_back(world: OneRule, *, is_fine: bool) -> None:
    world.runtime.missing = ["" if is_fine else "main of a-1 is not on record"]
    world.rule.moves()


def observes(world: OneRule) -> None:
    """Have the class be asked how all pods are."""
    world.rule.calls("observe", "")
    world.rule.returns("observe", "")


def all_pods_were_observed_first(world: OneRule, *, is_fine: bool) -> None:
    if is_fine:
        observes(world)
    world.rule.calls("run", "a-1")


def each_process_observes_first(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    if not is_fine:
        world.rule.calls("", "")
    world.rule.calls("run", "a-1")


def the_call_before_has_returned(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    world.rule.calls("run", "a-1")
    if is_fine:
        world.rule.returns("run", "a-1")
    world.rule.calls("stop", "a-1", 5.0)


def the_process_that_called_is_gone(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    world.rule.calls("run", "a-1")
    if is_fine:
        world.rule.calls("", "")
        observes(world)
    world.rule.calls("run", "a-1")


def the_stop_is_shorter(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    world.rule.calls("stop", "a-1", 10.0)
    world.passes(2.0)
    world.rule.calls("stop", "a-1", 7.9 if is_fine else 8.0)


def so_many_calls_are_under_way(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    for number in range(AT_A_TIME + (not is_fine)):
        world.rule.calls("run", f"a-{number}")


def somebody_wants_the_pod(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    if not is_fine:
        world.unwants()
    world.passes(60.0)
    world.rule.calls("run", "a-1")


def the_agent_has_just_heard_of_it(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    world.unwants()
    world.passes(0.9 if is_fine else 1.1)
    world.rule.calls("run", "a-1")


def a_source_cannot_be_read(world: OneRule, *, is_fine: bool) -> None:
    observes(world)
    world.unwants()
    world.passes(60.0)
    if is_fine:
        world.wishes.outages["file"] = world.now
    world.rule.calls("run", "a-1")


STORIES: Final[Stories] = {
    (AsAnnotated, "main of a-1 has run for"): (
        *(it_runs_as_long_as_it_says, its_sandbox_dies_by_itself),
    ),
    (AsAnnotated, "main of a-1 exits with 3, not 4"): (it_exits_with_what_it_says,),
    (AsAnnotated, "main of a-1 ends after its grace"): (
        *(it_ends_within_its_grace, the_stop_may_not_be_on_record, it_was_on_record),
    ),
    (Outlives, "main of a-1 is not on record"): (the_record_brings_it_back,),
    (CalledInOrder, "before anything was observed"): (
        *(all_pods_were_observed_first, each_process_observes_first),
    ),
    (CalledInOrder, "have not returned"): (
        *(the_call_before_has_returned, the_process_that_called_is_gone, the_stop_is_shorter),
    ),
    (CalledInOrder, "calls about pods are under way"): (so_many_calls_are_under_way,),
    (CalledInOrder, "a-1 is run though nobody wants it"): (
        *(somebody_wants_the_pod, the_agent_has_just_heard_of_it, a_source_cannot_be_read),
    ),
}
