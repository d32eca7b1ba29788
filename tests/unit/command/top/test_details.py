"""One thing in full: a pod, an actor, an object or a manifest, as the agent tells of it."""

from __future__ import annotations

from typing import Any

from tests.support.command.live_agent import many_pods
from tests.support.command.top_sessions import SessionStage


def web(stage: SessionStage) -> dict[str, Any]:
    """Let the agent tell of the pod that is well."""
    (row,) = [each for each in stage.agent.rows["/ui/pods"] if "web" in each["key"]]
    pod = {**row, "spec": {"containers": [{"name": "nginx"}]}}
    story = {"pod": pod, "summary": row["summary"], "why": [], "events": []}
    stage.agent.pods[row["metadata"]["uid"]] = story
    return story


def looked(stage: SessionStage, search: str) -> str:
    return stage.press("slash", *search, "enter", "enter")


def test_a_pod_that_is_well_says_so() -> None:
    stage = SessionStage()
    web(stage)
    text = looked(stage.live(), "web")
    assert "default/web-edge-1: Running, 1/1 ready" in text
    assert "It is well." in text


def test_a_pod_is_shown_with_what_is_known_until_the_agent_has_answered() -> None:
    stage = SessionStage().live()
    stage.session.key("enter", None)
    assert "default/crash-loop-edge-1: " in stage.text()
    stage.settle()
    assert "Containers" in stage.text()


def test_what_the_agent_advises_stands_below_each_reason() -> None:
    stage = SessionStage()
    story = web(stage)
    story["why"] = [{"text": "It \x1b[1mwaits", "advice": "Wait [b]too[/b]"}]
    text = looked(stage.live(), "web")
    assert "- It \\x1b[1mwaits\n  Wait [b]too[/b]" in text


def test_objects_of_a_namespace_that_has_too_many_are_those_with_trouble() -> None:
    stage = SessionStage()
    (model,) = stage.agent.rows["/ui/objects"]
    stage.agent.rows["/ui/objects"] += [
        {**model, "name": f"o{number}", "key": f"Secret default/edge-{number}"}
        for number in range(600)
    ]
    text = looked(stage.live(), "lacking")
    assert "nobody-made-it" in text
    assert any("troubled=" in each for each in stage.agent.asked if "/ui/objects" in each)


def test_an_object_says_how_old_the_knowledge_of_it_is_and_who_needs_it() -> None:
    stage = SessionStage()
    (row,) = stage.agent.rows["/ui/objects"]
    row |= {"ageSeconds": None, "lastError": "forbidden", "reconnects": None}
    text = stage.live().press("3")
    assert "never" in text
    text = stage.press("enter")
    assert "it was never known" in text
    assert "- forbidden" in text
    assert "reconnects  not known" in text
    row |= {"ageSeconds": 90.0}
    stage.agent.instead["/ui/pods"] = {"pods": [], "matching": 0}
    stage.passes(6.0)
    stage.settle()
    assert "last known to be current 1m30s ago" in stage.text()
    assert "\nnone\n" in stage.text()


def test_an_object_of_very_many_pods_counts_those_that_are_not_named() -> None:
    stage = SessionStage(80, 40)
    stage.agent.instead["/ui/pods"] = {"pods": [], "matching": 1_200, "total": 9, "before": 0}
    assert "and 1,200 more" in stage.live().press("3", "enter")


def test_an_object_that_nobody_needs_any_more_is_gone() -> None:
    stage = SessionStage().live()
    stage.press("3", "enter")
    stage.agent.rows["/ui/objects"].clear()
    stage.passes(6.0)
    stage.settle()
    assert "This object is gone." in stage.text()


def test_an_actor_of_a_pod_is_found_by_its_name() -> None:
    stage = SessionStage().live()
    row = {**stage.agent.tree["actors"][0], "name": "pods/7", "state": "backoff", "key": "pods/7"}
    stage.agent.rows["/ui/actors"] = [row]
    text = stage.press("2", "slash", *"pods/7", "enter", "enter")
    assert "backoff" in text
    row["restarts"] = 9
    stage.passes(6.0)
    stage.settle()
    assert [each.split() for each in stage.text().splitlines() if "restarts" in each] == [
        ["restarts", "9"]
    ]


def test_a_manifest_says_what_is_wrong_and_what_it_warns_of() -> None:
    stage = SessionStage()
    (row,) = [each for each in stage.agent.rows["/ui/manifests"] if "shop" in each["path"]]
    row["warnings"] = ["spec.colour (line 9): is unknown"]
    stage.live().press("4", "slash", *"shop", "enter")
    text = stage.press("enter")
    assert "rejected" in text
    assert "- spec.containers (line 4)" in text
    assert "- warning: spec.colour (line 9): is unknown" in text


def test_a_long_detail_is_scrolled_and_left_for_another_list() -> None:
    stage = SessionStage(60, 15).live()
    first = looked(stage, "crash")
    assert stage.press("down") != first
    assert stage.press("home") == first
    last = stage.press("end")
    assert stage.press("pagedown") == last
    stage.session.wheel(-1)
    assert stage.text() != last
    assert stage.press("x") == stage.text()
    assert "MAILBOX" in stage.press("2")


def test_keys_that_mean_nothing_here_change_nothing() -> None:
    stage = SessionStage().live()
    before = stage.text()
    assert stage.press("x", "f5", "escape") == before
    stage.press("question_mark")
    stage.session.wheel(1)
    stage.session.click(0, 23)
    assert stage.text() == before
    stage.press("2")
    assert stage.press("t") == stage.text()
    stage.press("slash", "x", "ctrl+u", "down", "f5")
    assert stage.session.state.current.cursor == 1
    stage.press("backspace")
    assert stage.session.state.typed is None


def test_an_empty_list_says_what_that_means() -> None:
    stage = SessionStage()
    for path in stage.agent.rows:
        stage.agent.rows[path] = []
    text = stage.live().text()
    assert "There are no pods. 4 shows what became of each manifest." in text
    assert stage.press("enter") == text
    assert "No pod has trouble. t shows all." in stage.press("t")
    assert "No pod needs a Secret or a ConfigMap." in stage.press("3")
    assert "There are no manifests." in stage.press("4")


def test_rows_that_went_while_somebody_was_at_their_end_leave_the_last_one_chosen() -> None:
    stage = SessionStage()
    many_pods(stage.agent, 500)
    stage.live()
    stage.press("end")
    del stage.agent.rows["/ui/pods"][20:]
    stage.passes(6.0)
    stage.settle()
    assert "2-20 of 20" in stage.text()
    assert "load-00019" in stage.text()


def test_a_narrow_terminal_has_no_room_for_columns_that_matter_less() -> None:
    stage = SessionStage(60, 15)
    for row in stage.agent.rows["/ui/pods"]:
        row["metadata"]["name"] += "-with-a-name-that-is-long"
    titles = stage.live().text().splitlines()[3].split()
    assert titles[:3] == ["POD↑", "READY", "STATUS"]
    assert "FROM" not in titles


def test_an_agent_that_tells_less_is_shown_without_it() -> None:
    stage = SessionStage()
    for name in ("pods", "process"):
        stage.agent.agent[name] = None
    stage.agent.agent["cluster"] = [{"name": "api-server", "ok": False, "text": "away"}]
    text = stage.live().text()
    assert text.splitlines()[1] == "1 manifest to look at  sources 2/2  API server not ok"
    assert "api-server: away" in text
    stage.passes(3.0)
    stage.settle()
    assert "cpu" not in stage.text()
