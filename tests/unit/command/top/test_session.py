"""A session: what is on the screen after keys, answers, changes and losses, and what is asked for it."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from command.failures import StrangeAnswerError, UnreachableError
from command.top.asking import EventsLost, SeenChange
from command.top.lists import LISTS
from command.top.screen import screen
from command.wording import local_time
from tests.support.command.live_agent import many_pods, told
from tests.support.command.top_sessions import SessionStage

AWAY = UnreachableError("no agent answers at 127.0.0.1:10255: it does not run")


def rows(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if word in line]


def test_the_first_screen_has_the_agent_its_counts_and_its_pods() -> None:
    text = SessionStage().live().text()
    first, second, tabs, titles = text.splitlines()[:4]
    assert first.startswith("actorlet edge-1  ready healthy")
    assert first.endswith("127.0.0.1:10255 live")
    assert second.startswith("pods 5: ")
    assert tabs.startswith(" 1 Pods  2 Actors  3 Objects  4 Sources  5 Events")
    assert titles.split() == ["POD↑", "READY", "STATUS", "RESTARTS", "AGE", "FROM"]
    assert "CrashLoopBackOff" in text
    assert "q quit" in text.splitlines()[-1]


def test_the_first_screen_says_how_many_pods_and_how_many_manifests_are_to_be_looked_at() -> None:
    second = SessionStage(width=120).live().text().splitlines()[1]
    assert "3 pods, 1 manifest to look at" in second


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 15), (200, 60)])
@pytest.mark.parametrize(
    "keys", [(), ("enter",), ("2",), ("3",), ("4",), ("5",), ("question_mark",)]
)
def test_every_screen_fits_its_terminal(width: int, height: int, keys: tuple[str, ...]) -> None:
    stage = SessionStage(width, height).live()
    stage.press(*keys)
    lines = screen(stage.session.state)
    assert len(lines) == height
    for line in lines:
        assert cell_len("".join(span.text for span in line).rstrip()) <= width


def test_a_terminal_that_is_too_small_is_told_how_large_it_has_to_be() -> None:
    stage = SessionStage(50, 10).live()
    assert "50x10" in stage.text()
    assert "60x15" in stage.text()
    stage.session.resized(60, 15)
    assert "web-edge-1" in stage.text()


@pytest.mark.parametrize("name", LISTS)
def test_each_list_is_shown_and_one_of_its_rows(name: str) -> None:
    stage = SessionStage().live()
    stage.press(str(list(LISTS).index(name) + 1))
    assert stage.session.state.shown == name
    assert "esc back" in stage.press("enter")
    assert "enter look" in stage.press("escape")


def test_a_pod_says_why_it_does_not_run() -> None:
    stage = SessionStage().live()
    stage.press("slash", *"lacking", "enter", "enter")
    text = stage.text()
    assert "Secret default/nobody-made-it does not exist" in text
    assert "NEEDS" in stage.press("end")


def test_a_crash_loop_shows_its_end_and_its_last_events() -> None:
    stage = SessionStage().live()
    stage.press("slash", *"crash", "enter", "enter")
    text = stage.text() + stage.press("pagedown")
    assert "What happened" in text
    assert "BackOff" in text


def test_an_object_names_the_pods_that_refer_to_it() -> None:
    text = SessionStage().live().press("3", "enter")
    assert "Secret default/nobody-made-it" in text
    assert "default/lacking-edge-1" in text


def test_what_has_happened_is_listed_with_its_own_times_and_how_far_back_that_reaches() -> None:
    stage = SessionStage(width=120)
    stage.agent.reach["forgotten"] = 1234
    stage.live()
    text = stage.press("5")
    assert (
        f"16 events since the agent started at {local_time(told('events')['since'])}; "
        "1,234 older ones are forgotten." in text
    )
    assert re.search(r"\d\d:\d\d:\d\d +4 +default/crash-loop-edge-1 +Started", text)
    assert "ConfigMap default/shop-settings" in rows(text, "modified")[0]
    assert "because of ConfigMap default/shop-settings" in rows(text, "signal")[0]


def test_a_thing_that_has_happened_says_when_it_was_first_and_last_and_all_its_words() -> None:
    stage = SessionStage().live()
    stage.press("5", "slash", *"back-off", "enter")
    text = stage.press("enter")
    first, last = (
        local_time(stage.agent.rows["/ui/events"][9][each]) for each in ("first", "last")
    )
    assert "default/crash-loop-edge-1: BackOff" in text
    assert [line.split() for line in text.splitlines() if line.startswith(("first", "last"))] == [
        ["last", *last.split()],
        ["first", *first.split()],
    ]
    assert "restarting failed container app" in " ".join(text.split())


def test_what_was_long_ago_has_its_date() -> None:
    stage = SessionStage()
    for row in stage.agent.rows["/ui/events"]:
        row["last"] = "2026-11-20T12:00:00.000Z"
    assert "2026-11-20" in stage.live().press("5")


def test_an_actor_has_its_last_error_its_mailbox_and_its_restarts() -> None:
    stage = SessionStage()
    stage.agent.tree["actors"][0] |= {"lastError": "ValueError: [bold]no", "restarts": 3}
    stage.live()
    text = stage.press("2", "enter")
    assert "ValueError: [bold]no" in text
    assert rows(text, "restarts")[0].split() == ["restarts", "3"]


def test_a_row_of_many_actors_lists_them() -> None:
    stage = SessionStage().live()
    stage.press("2")
    names = [row.get("name") for row in stage.session.state.current.page.rows]
    stage.press(*["down"] * names.index("pods/*"), "enter")
    assert stage.session.state.current.search == "pods/"
    assert stage.session.state.detail is None


def test_of_ten_thousand_pods_only_the_window_is_asked_for() -> None:
    stage = SessionStage()
    many_pods(stage.agent, 10_000)
    stage.live()
    assert "1-19 of 10,000" in stage.text()
    stage.agent.asked.clear()
    text = stage.press("end")
    assert "9,982-10,000 of 10,000" in text
    assert "load-09999" in text
    stage.press("home", *["pagedown"] * 6)
    asked = [each for each in stage.agent.asked if each.startswith("/ui/pods")]
    assert asked
    assert all("limit=57" in each for each in asked)
    assert "load-00114" in stage.text()


def test_rows_that_are_not_there_yet_are_a_sign_until_they_come() -> None:
    stage = SessionStage()
    many_pods(stage.agent, 1_000)
    stage.live()
    stage.session.key("end", None)
    assert "…" in stage.text().splitlines()[6]
    stage.settle()
    assert "load-00999" in stage.text()


def test_a_search_finds_and_says_how_many_there_are_in_all() -> None:
    stage = SessionStage().live()
    stage.press("slash", *"web")
    assert "/web▏" in stage.text().splitlines()[-1]
    assert "1 pod (5 in all)" in stage.text()
    text = stage.press("enter")
    assert "/web 1 pod (5 in all)" in text
    assert "lacking" in stage.press("escape")


def test_a_search_that_finds_nothing_says_so_and_is_dropped_by_esc() -> None:
    stage = SessionStage().live()
    text = stage.press("slash", *"qxz")
    assert "No pod is found by qxz." in text
    stage.press("backspace", "backspace")
    assert stage.session.state.typed == "q"
    stage.press("escape")
    assert "(enter keeps it" not in stage.text()
    assert stage.session.state.current.search == ""


def test_what_is_pasted_goes_into_the_search_alone() -> None:
    stage = SessionStage().live()
    stage.session.paste("web")
    assert stage.session.state.current.search == ""
    stage.press("slash")
    stage.session.paste("we\x1bb\n")
    stage.settle()
    assert stage.session.state.current.search == "web "


def test_orders_are_asked_of_the_agent_and_marked_at_the_title() -> None:
    stage = SessionStage().live()
    assert "STATUS↑" in stage.press("s")
    assert "RESTARTS↓" in stage.press("s")
    assert "sort=-restarts" in stage.agent.asked[-1]
    assert "RESTARTS↑" in stage.press("S")
    stage.press("t")
    assert "troubled=" in stage.agent.asked[-1]
    assert "troubled" in stage.text().splitlines()[2]


def test_the_mouse_chooses_looks_sorts_and_changes_the_list() -> None:
    stage = SessionStage().live()

    def click(x: int, y: int) -> str:
        stage.session.click(x, y)
        stage.settle()
        return stage.text()

    click(3, 5)
    assert stage.session.state.current.cursor == 1
    assert "esc back" in click(3, 5)
    assert "enter look" in click(0, 23)
    assert "AGE↑" in click(stage.text().splitlines()[3].index("AGE"), 3)
    assert "MAILBOX" in click(12, 2)
    stage.session.wheel(1)
    assert stage.session.state.current.cursor == 3
    before = stage.session.state
    for x, y in ((70, 2), (79, 22), (0, 0), (0, 99)):
        click(x, y)
    assert stage.session.state.shown == before.shown


def test_the_chosen_row_stays_chosen_where_it_goes() -> None:
    stage = SessionStage()
    many_pods(stage.agent, 100)
    stage.live()
    stage.press("down", "down")
    assert stage.session.state.current.key.endswith("load-00002")
    del stage.agent.rows["/ui/pods"][0]
    stage.session.changes([SeenChange(name="pod", uid="x")])
    stage.passes(5.0)
    stage.settle()
    assert stage.session.state.current.cursor == 1
    assert stage.session.state.current.key.endswith("load-00002")


def test_five_hundred_changes_are_one_question_and_those_of_other_lists_none() -> None:
    stage = SessionStage().live()
    stage.passes(1.0)
    stage.session.changes([SeenChange(name="status", uid=str(number)) for number in range(500)])
    stage.session.proceed()
    stage.session.proceed()
    assert [topic for topic, _, _ in stage.questions] == ["list"]
    stage.settle()
    stage.passes(1.0)
    stage.session.changes([SeenChange(name="object", uid="")])
    stage.session.proceed()
    assert stage.questions == []


def test_a_pod_that_is_looked_at_is_asked_for_when_it_changes() -> None:
    stage = SessionStage().live()
    stage.press("slash", *"lacking", "enter", "enter")
    uid = stage.session.state.current.page.rows[0]["metadata"]["uid"]
    stage.passes(1.0)
    stage.session.changes([SeenChange(name="status", uid="another")])
    stage.session.proceed()
    assert stage.questions == []
    stage.session.changes([SeenChange(name="event", uid=uid)])
    stage.session.proceed()
    assert [topic for topic, _, _ in stage.questions] == ["detail"]


def test_a_pod_that_goes_while_it_is_looked_at_stays_with_a_sentence() -> None:
    stage = SessionStage().live()
    stage.press("slash", *"lacking", "enter", "enter")
    stage.agent.pods.clear()
    stage.passes(6.0)
    stage.settle()
    assert "This pod is gone." in stage.text()
    assert "nobody-made-it" in stage.text()


def test_an_agent_that_does_not_answer_leaves_what_was_known_with_its_age() -> None:
    stage = SessionStage().live()
    stage.session.told(EventsLost(why="it ended", pause=4.0))
    stage.passes(6.0)
    stage.answer(failure=AWAY)
    text = stage.text()
    assert "This is as of " in text
    assert "no agent answers" in text
    assert "web-edge-1" in text
    assert "not live" in text
    assert stage.session.failure is None
    stage.passes(6.0)
    stage.settle()
    assert stage.retries == 1
    stage.live()
    assert "as of" not in stage.text()
    assert stage.text().splitlines()[0].endswith(" live")


def test_an_agent_that_never_answered_is_waited_for_with_a_sentence() -> None:
    stage = SessionStage()
    stage.session.proceed()
    assert "Nothing is known yet." in stage.text()
    stage.answer(failure=AWAY)
    assert "Nothing is known yet; trying again: no agent answers" in stage.text()
    stage.live()
    assert "web-edge-1" in stage.text()


def test_an_agent_that_was_started_anew_is_told_as_such() -> None:
    stage = SessionStage().live()
    stage.agent.agent["process"]["ageSeconds"] = 0.5
    stage.passes(6.0)
    stage.settle()
    assert "The agent was restarted" in stage.text()


def test_an_answer_of_another_version_ends_it_with_a_sentence() -> None:
    stage = SessionStage().live()
    stage.agent.instead["/ui/pods"] = {"pods": {"kind": "PodList"}}
    stage.passes(6.0)
    stage.settle()
    assert isinstance(stage.session.failure, StrangeAnswerError)


def test_a_clock_that_is_wrong_does_not_make_ages_wrong() -> None:
    stage = SessionStage()
    stage.agent.agent["now"] = "2027-01-01T00:00:00Z"
    stage.live()
    assert stage.session.state.skew > 3_000_000
    assert "38d" in rows(stage.text(), "web-edge-1")[0]


def test_processor_time_is_of_the_time_between_two_answers() -> None:
    stage = SessionStage().live()
    stage.agent.agent["process"]["cpuSeconds"] += 3.0
    stage.passes(10.0)
    stage.settle()
    assert "cpu 30%" in stage.text()


def test_what_keeps_the_agent_from_being_ready_is_said() -> None:
    stage = SessionStage()
    check = {"name": "source/file", "ok": False, "text": "no such\x1b directory"}
    stage.agent.agent["readiness"] = {"ok": False, "checks": [check]}
    text = stage.live().text()
    assert "not ready" in text.splitlines()[0]
    assert "source/file: no such\\x1b directory" in text


def test_the_version_that_runs_is_said_and_that_a_restart_is_due() -> None:
    stage = SessionStage(width=160)
    due = {"running": "1.0", "advice": "1.1 (bbb) is installed: a restart is due"}
    stage.agent.agent["version"] = due
    text = stage.live().text()
    assert "  version 1.0  " in text.splitlines()[1]
    assert "actorlet 1.1 (bbb) is installed: a restart is due." in text.splitlines()
    due["advice"] = ""
    assert "restart is due" not in stage.press("r")


def test_r_asks_for_everything_at_once_and_q_ends() -> None:
    stage = SessionStage().live()
    stage.passes(1.0)
    stage.session.key("r", "r")
    assert stage.retries == 1
    assert {topic for topic, _, _ in stage.questions} == {"agent", "list"}
    assert stage.session.key("q", "q")
    assert stage.session.key("ctrl+c", None)


def test_q_is_a_letter_while_somebody_types() -> None:
    stage = SessionStage().live()
    stage.press("slash")
    assert not stage.session.key("q", "q")
    assert stage.session.state.current.search == "q"


def test_help_comes_and_goes() -> None:
    stage = SessionStage().live()
    assert "Keys" in stage.press("question_mark")
    assert "enter look" in stage.press("escape")


def test_hostile_names_are_shown_as_text() -> None:
    stage = SessionStage()
    for row, name in zip(
        stage.agent.rows["/ui/pods"],
        ("\x1b[2Jx", "[bold]x[/bold]", "漢字" * 100, "\u202ex", "x" * 9_999),
        strict=True,
    ):
        row["metadata"]["name"] = name
    text = stage.live().text()
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2Jx" in text
    assert "[bold]x[/bold]" in text
    for key in ("enter", "escape", "down", "enter"):
        assert stage.press(key).replace("\n", "").isprintable()
