"""Stories of pods that may be active for so long. Each name says why all is fine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tests.environment.oracle.deadlines import EXCEEDED, Deadline
from tests.simulation.rules.by_hand import BEGINS_AT, OneRule, Stories

LIMIT: Final = 60
GRACE: Final = 5
BEGAN: Final = datetime.fromtimestamp(BEGINS_AT, UTC).isoformat()


def is_active(world: OneRule, seconds: float) -> None:
    """Have the pod be active for so long."""
    world.wants(activeDeadlineSeconds=LIMIT, terminationGracePeriodSeconds=GRACE)
    world.shows(phase="Running", startTime=BEGAN)
    world.passes(seconds)


def it_is_over(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT if is_fine else LIMIT - 1.0)
    world.shows(phase="Failed", reason=EXCEEDED, startTime=BEGAN)


def it_ended_before(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT)
    world.shows(phase="Failed", reason=EXCEEDED, startTime=BEGAN)
    world.passes(GRACE + 5.0)
    world.shows(phase="Succeeded" if is_fine else "Running", startTime=BEGAN)


def its_grace_is_not_over(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT)
    world.shows(phase="Failed", reason=EXCEEDED, startTime=BEGAN)
    world.passes(GRACE + (4.0 if is_fine else 5.0))
    world.shows(phase="Running", startTime=BEGAN)


def there_was_trouble(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT)
    world.shows(phase="Failed", reason=EXCEEDED, startTime=BEGAN)
    world.passes(GRACE + 5.0)
    if is_fine:
        world.wishes.troubled_at = world.now
    world.shows(phase="Running", startTime=BEGAN)


def the_agent_was_dead(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT)
    world.shows(phase="Failed", reason=EXCEEDED, startTime=BEGAN)
    world.passes(GRACE + 5.0)
    if is_fine:
        world.kills_agent()
    world.shows(phase="Running", startTime=BEGAN)


def nobody_wants_it(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT + GRACE + 5.0)
    if is_fine:
        world.unwants()
    world.shows(phase="Running", startTime=BEGAN)


def it_may_be_active(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT - 1.0 if is_fine else LIMIT + 2.0)
    world.starts()


def it_was_asked_for_before(world: OneRule, *, is_fine: bool) -> None:
    is_active(world, LIMIT)
    asked_at = world.now
    world.passes(9.0)
    world.starts(asked_at=asked_at if is_fine else world.now)


STORIES: Final[Stories] = {
    (Deadline, "before its deadline"): (it_is_over,),
    (Deadline, "is active"): (
        *(it_ended_before, its_grace_is_not_over),
        *(there_was_trouble, the_agent_was_dead, nobody_wants_it),
    ),
    (Deadline, "starts"): (it_may_be_active, it_was_asked_for_before),
}
