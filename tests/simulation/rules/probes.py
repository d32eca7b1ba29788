"""Stories of probes, and of what follows from their answers. Each name says why all is fine."""

from __future__ import annotations

from typing import Final

from tests.environment.oracle.probes import HeldBack, ReadyAsAnswered
from tests.simulation.rules.by_hand import ONCE, OneRule, Stories, container, shown

PROBED: Final = container(startupProbe=ONCE, livenessProbe=ONCE)
READY: Final = container(readinessProbe={"successThreshold": 2, "failureThreshold": 2})


def its_startup_has_passed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[PROBED])
    one = world.starts()
    world.answers(one, "started", is_yes=is_fine)
    world.answers(one, "alive")


def it_has_no_startup_probe(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[container(livenessProbe=ONCE) if is_fine else PROBED])
    one = world.starts()
    world.answers(one, "alive")


def startup_has_not_passed(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[PROBED])
    one = world.starts()
    world.answers(one, "started", is_yes=not is_fine)
    world.passes(61.0)
    world.answers(one, "started")


def trouble_came_between(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[PROBED])
    one = world.starts()
    world.answers(one, "started")
    world.passes(61.0)
    world.wishes.troubled_at = world.now - (59.0 if is_fine else 61.0)
    world.answers(one, "started")


def it_has_said_so_once(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    if is_fine:
        world.answers(one, "ready")
    world.shows(containerStatuses=[shown(one)])


def it_is_not_shown_ready(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    world.writes(containerStatuses=[shown(one, ready=not is_fine)])


def nobody_wants_the_pod(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    if is_fine:
        world.unwants()
    world.shows(containerStatuses=[shown(world.starts())])


def as_many_answers_have_not_come(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    for is_yes in (True, True, False) if is_fine else (True, True, False, False):
        world.answers(one, "ready", is_yes=is_yes)
    world.passes(6.0)
    world.shows(containerStatuses=[shown(one)])


def the_answer_has_just_come(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    for _ in range(2):
        world.answers(one, "ready")
    world.passes(4.8 if is_fine else 5.0)
    world.shows(containerStatuses=[shown(one, ready=False)])


def there_was_trouble(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    for _ in range(2):
        world.answers(one, "ready")
    world.passes(100.0)
    world.wishes.troubled_at = world.now - (59.0 if is_fine else 60.0)
    world.shows(containerStatuses=[shown(one, ready=False)])


def it_has_ended(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    for _ in range(2):
        world.answers(one, "ready")
    if is_fine:
        world.ends(one)
    world.passes(6.0)
    world.shows(containerStatuses=[shown(one, ready=False)])


def what_counted_before_a_sigkill_stays(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[READY])
    one = world.starts()
    for _ in range(2):
        world.answers(one, "ready")
    for _ in range(2):
        world.answers(one, "ready", is_yes=False)
    if is_fine:
        world.kills_agent()
    world.passes(100.0)
    world.shows(containerStatuses=[shown(one)])


def it_is_shown_as_it_has_said(world: OneRule, *, is_fine: bool) -> None:
    world.wants(containers=[PROBED])
    one = world.starts()
    world.answers(one, "started")
    world.passes(6.0)
    world.shows(containerStatuses=[shown(one, started=is_fine)])


STORIES: Final[Stories] = {
    (HeldBack, "is asked if it is alive before it started"): (
        *(its_startup_has_passed, it_has_no_startup_probe),
    ),
    (HeldBack, "is asked if it has started, and has said so"): (
        *(startup_has_not_passed, trouble_came_between),
    ),
    (ReadyAsAnswered, "is shown ready and never said so"): (
        *(it_has_said_so_once, it_is_not_shown_ready, nobody_wants_the_pod),
    ),
    (ReadyAsAnswered, "and answers"): (
        *(as_many_answers_have_not_come, the_answer_has_just_come, there_was_trouble),
        *(it_has_ended, what_counted_before_a_sigkill_stays, it_is_shown_as_it_has_said),
    ),
}
