"""The supervision table: strategy by restart kind by reason, in OTP's words.

Three children, first, middle and last. Something happens to the one in the middle; its siblings are
permanent. The table says what is lived through from then on, in this order.
"""

from __future__ import annotations

import pytest

from kernel import EXIT_STOPPED, Restart, Runtime, Strategy, SupervisorSpec
from tests.support.kernel.players import STOP_YOURSELF, Do, FailsAtFirst, Troupe, crash, key
from tests.support.kernel.stage import stage

FIRST, MIDDLE, LAST = key("first"), key("middle"), key("last")

HAPPENINGS = {"normal": STOP_YOURSELF, "abnormal": crash()}

ALL_START = "first starts 1, middle starts 1, last starts 1"

ONE_FOR_ONE = {
    "permanent_normal": "middle stops, middle starts 2",
    "permanent_abnormal": "middle starts 2",
    "transient_normal": "middle stops",
    "transient_abnormal": "middle starts 2",
    "temporary_normal": "middle stops",
    "temporary_abnormal": "",
}
REST_FOR_ONE = {
    "permanent_normal": "middle stops, last stops, middle starts 2, last starts 2",
    "permanent_abnormal": "last stops, middle starts 2, last starts 2",
    "transient_normal": "middle stops",
    "transient_abnormal": "last stops, middle starts 2, last starts 2",
    "temporary_normal": "middle stops",
    "temporary_abnormal": "",
}
ONE_FOR_ALL = {
    "permanent_normal": (
        "middle stops, last stops, first stops, first starts 2, middle starts 2, last starts 2"
    ),
    "permanent_abnormal": (
        "last stops, first stops, first starts 2, middle starts 2, last starts 2"
    ),
    "transient_normal": "middle stops",
    "transient_abnormal": (
        "last stops, first stops, first starts 2, middle starts 2, last starts 2"
    ),
    "temporary_normal": "middle stops",
    "temporary_abnormal": "",
}

AT_START = {
    "one_for_one-permanent": f"{ALL_START}, middle starts 2",
    "one_for_one-transient": f"{ALL_START}, middle starts 2",
    "one_for_one-temporary": ALL_START,
    "rest_for_one-permanent": "first starts 1, middle starts 1, middle starts 2, last starts 1",
    "rest_for_one-transient": "first starts 1, middle starts 1, middle starts 2, last starts 1",
    "rest_for_one-temporary": ALL_START,
    "one_for_all-permanent": (
        "first starts 1, middle starts 1, first stops, "
        "first starts 2, middle starts 2, last starts 1"
    ),
    "one_for_all-transient": (
        "first starts 1, middle starts 1, first stops, "
        "first starts 2, middle starts 2, last starts 1"
    ),
    "one_for_all-temporary": ALL_START,
}


def lived_through(troupe: Troupe, runtime: Runtime, strategy: Strategy, case: str) -> str:
    """Return the diary from the moment on at which ``case`` happens to the middle child."""
    restart, _, happening = case.partition("_")
    children = (
        troupe.child(FIRST),
        troupe.child(MIDDLE, restart=Restart(restart)),
        troupe.child(LAST),
    )
    with stage(SupervisorSpec(name="root", strategy=strategy, children=children), runtime) as play:
        troupe.diary.expect(*ALL_START.split(", "))
        message: Do = HAPPENINGS[happening]
        play.tell(MIDDLE, message)
        play.advance(1.0)
        lived = ", ".join(troupe.diary.drain())
        assert play.stop() == EXIT_STOPPED
        return lived


@pytest.mark.parametrize("case", ONE_FOR_ONE)
def test_one_for_one_restarts_nobody_else(troupe: Troupe, runtime: Runtime, case: str) -> None:
    assert lived_through(troupe, runtime, Strategy.ONE_FOR_ONE, case) == ONE_FOR_ONE[case]


@pytest.mark.parametrize("case", REST_FOR_ONE)
def test_rest_for_one_restarts_those_after_it(troupe: Troupe, runtime: Runtime, case: str) -> None:
    assert lived_through(troupe, runtime, Strategy.REST_FOR_ONE, case) == REST_FOR_ONE[case]


@pytest.mark.parametrize("case", ONE_FOR_ALL)
def test_one_for_all_restarts_all(troupe: Troupe, runtime: Runtime, case: str) -> None:
    assert lived_through(troupe, runtime, Strategy.ONE_FOR_ALL, case) == ONE_FOR_ALL[case]


@pytest.mark.parametrize("case", AT_START)
def test_a_failure_at_the_start_is_a_failure_like_any_other(
    troupe: Troupe, runtime: Runtime, case: str
) -> None:
    strategy, _, restart = case.partition("-")
    middle = troupe.child(MIDDLE, restart=Restart(restart), at_start=FailsAtFirst(1))
    children = (troupe.child(FIRST), middle, troupe.child(LAST))
    spec = SupervisorSpec(name="root", strategy=Strategy(strategy), children=children)
    with stage(spec, runtime) as play:
        play.advance(1.0)

        assert ", ".join(troupe.diary.drain()) == AT_START[case]


@pytest.mark.parametrize("restart", list(Restart))
def test_an_ordered_stop_is_followed_by_no_life(
    troupe: Troupe, runtime: Runtime, restart: Restart
) -> None:
    spec = SupervisorSpec(name="root", children=(troupe.child(MIDDLE, restart=restart),))
    with stage(spec, runtime) as play:
        assert play.stop() == EXIT_STOPPED
        play.advance(60.0)

        troupe.diary.expect("middle starts 1", "middle stops")
        troupe.diary.expect_silence()
