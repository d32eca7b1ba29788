"""How often the agent is asked: soon after a change, seldom where an answer takes long."""

from __future__ import annotations

from command.top.session import LEAST, PATIENT, RATIO, Pace


def test_changes_while_an_answer_is_waited_for_lead_to_one_more_question() -> None:
    pace = Pace(every=5.0)
    assert pace.is_due(0.0)
    pace.asked(0.0)
    for _ in range(500):
        pace.poke()
    assert not pace.is_due(0.1)
    pace.answered(0.1, 0.02)
    assert not pace.is_due(0.1 + 0.02 * RATIO - 0.01)
    assert pace.is_due(0.1 + 0.02 * RATIO)


def test_a_quick_answer_is_not_asked_for_all_the_time() -> None:
    pace = Pace(every=5.0)
    pace.asked(0.0)
    pace.answered(0.0, 0.0)
    pace.poke()
    assert not pace.is_due(LEAST / 2)
    assert pace.is_due(LEAST)


def test_without_a_change_it_is_asked_after_the_usual_time_also_where_nobody_answers() -> None:
    pace = Pace(every=5.0)
    pace.asked(0.0)
    pace.failed(2.0)
    assert not pace.is_due(6.9)
    assert pace.is_due(7.0)
    pace.asked(7.0)
    pace.answered(7.0, 0.0)
    assert not pace.is_due(11.9)
    assert pace.is_due(12.0)


def test_whoever_presses_a_key_does_not_wait_and_a_lost_answer_is_not_waited_for_forever() -> None:
    pace = Pace(every=5.0)
    pace.asked(0.0)
    assert not pace.is_due(PATIENT - 0.1)
    assert pace.is_due(PATIENT)
    pace.at_once()
    assert pace.is_due(0.1)
