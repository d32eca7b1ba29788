"""How a hollow container behaves: annotations, then its command, then rules."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.times import LONGEST_SPAN, Span
from messages.units import Seconds
from runtimes.hollow.behaviours import OF_CONTAINERS, Behaviours, UnreadableAnnotationError
from runtimes.hollow.rules import (
    A_SECOND,
    COMPLETED,
    NO_TIME,
    NOT_STARTED,
    OUT_OF_MEMORY,
    Ending,
    HollowRules,
    drawn,
    rules_of,
)
from tests.support.runtimes.hollow_stage import container_of, hollow_pod

RULES = HollowRules()


def span(least: float, most: float | None = None) -> Span:
    return Span(Seconds(least), Seconds(least if most is None else most))


def behaviour(name: str = "main", rules: HollowRules = RULES, **said: Any) -> Any:
    pod = hollow_pod(**said)
    return Behaviours(rules).of_container(pod, container_of(pod, name))


def spec(policy: str | None = None, **main: Any) -> dict[str, Any]:
    """Return a specification with one container of each kind."""
    given = {} if policy is None else {"restartPolicy": policy}
    return {
        **given,
        "initContainers": [
            {"name": "first", "image": "i"},
            {"name": "side", "image": "i", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "main", "image": "m", **main}],
        "ephemeralContainers": [{"name": "debug", "image": "i"}],
    }


@pytest.mark.parametrize(
    ("policy", "name", "run_for"),
    [
        (None, "main", None),
        ("Always", "main", None),
        ("OnFailure", "main", A_SECOND),
        ("Never", "main", A_SECOND),
        ("Always", "first", NO_TIME),
        ("Never", "first", NO_TIME),
        ("Never", "side", None),
        ("Never", "debug", None),
    ],
)
def test_without_annotations_restart_policy_and_kind_decide(
    policy: str | None, name: str, run_for: Span | None
) -> None:
    found = behaviour(name, spec=spec(policy))
    assert (found.run_for, found.exits) == (run_for, (COMPLETED,))


@pytest.mark.parametrize(
    ("own", "run_for"), [("Never", A_SECOND), ("OnFailure", A_SECOND), ("Always", None)]
)
def test_the_restart_policy_of_a_container_wins(own: str, run_for: Span | None) -> None:
    policy = "Always" if own != "Always" else "Never"
    assert behaviour(spec=spec(policy, restartPolicy=own)).run_for == run_for


def test_a_plain_command_wins_over_the_restart_policy() -> None:
    found = behaviour(spec=spec("Always", command=["sh", "-c", "echo hi; sleep 5; exit 3"]))
    assert (found.run_for, found.exits) == (span(5), (Ending(3, "Error"),))
    assert found.says[0].text == "hi"
    assert behaviour(spec=spec("Never", command=["sleep", "infinity"])).run_for is None


def test_annotations_win_over_the_command() -> None:
    given = spec("Always", command=["sh", "-c", "sleep 5; exit 3"])
    assert behaviour(spec=given, run_for="1m").run_for == span(60)
    assert behaviour(spec=given, run_for="1m").exits == (Ending(3, "Error"),)
    assert behaviour(spec=given, exits="0").run_for == span(5)
    assert behaviour(spec=given, exits="0").exits == (COMPLETED,)
    assert behaviour(spec=given, run_for="forever").run_for is None


def test_exits_make_a_container_end_that_would_not() -> None:
    found = behaviour(exits="1, OOMKilled,StartError,run")
    assert found.run_for == A_SECOND
    assert found.exits == (Ending(1, "Error"), OUT_OF_MEMORY, NOT_STARTED, None)
    assert [found.ending(attempt) for attempt in (0, 3, 4, 2**40)] == [
        Ending(1, "Error"),
        None,
        None,
        None,
    ]
    endless = spec("Always", command=["sleep", "infinity"])
    assert behaviour(spec=endless, exits="1").run_for == A_SECOND


def test_an_annotation_is_about_regular_containers_unless_it_names_another() -> None:
    given = spec("Never")
    assert behaviour("first", spec=given, exits="1").exits == (COMPLETED,)
    assert behaviour("first", spec=given, exits__first="1").exits == (Ending(1, "Error"),)
    assert behaviour("main", spec=given, exits="1", exits__main="2").exits == (Ending(2, "Error"),)
    assert behaviour("main", spec=given, exits__main="2", exits="1").exits == (Ending(2, "Error"),)


def test_every_annotation_of_a_container_is_read() -> None:
    found = behaviour(
        time_to_create="1s",
        create_error="no",
        time_to_start="2s-3s",
        run_for="4s",
        exits="5",
        message="bye",
        ready_after="6s",
        time_to_stop="7s",
        stop_exit_code="8",
        ignores_sigterm="true",
        resize_error="never",
        exec_exit_code="9",
        time_for_post_start="10s",
        post_start_error="unwilling",
        time_for_pre_stop="11s",
        pre_stop_error="unable",
        started_after="12s",
        unready_after="13s",
        unready_for="15s",
        hangs_after="14s",
        ends_by_signal="SIGHUP",
    )
    assert {field for field, _ in OF_CONTAINERS.values()} == {
        *("to_create", "create_error", "to_start", "run_for", "exits", "message", "ready_after"),
        *("started_after", "unready_after", "unready_for", "hangs_after", "ends_by_signal"),
        *("to_stop", "stop_ending", "ignores_sigterm", "resize_error", "exec_exit_code"),
        *("for_post_start", "post_start_error", "for_pre_stop", "pre_stop_error"),
    }
    assert found.to_create == span(1)
    assert found.create_error == "no"
    assert found.to_start == span(2, 3)
    assert found.run_for == span(4)
    assert found.exits == (Ending(5, "Error"),)
    assert found.message == "bye"
    assert found.ready_after == span(6)
    assert found.to_stop == span(7)
    assert found.stop_ending == Ending(8, "Error")
    assert found.ignores_sigterm
    assert found.resize_error == "never"
    assert found.exec_exit_code == 9
    assert (found.for_post_start, found.post_start_error) == (span(10), "unwilling")
    assert (found.for_pre_stop, found.pre_stop_error) == (span(11), "unable")
    assert (found.started_after, found.unready_after) == (span(12), span(13))
    assert found.unready_for == span(15)
    assert (found.hangs_after, found.ends_by_signal) == (span(14), "SIGHUP")


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"run_for": "soon"}, "run-for should be a duration"),
        ({"unready_for": "5s"}, "unready-for needs hollow.actorlet/unready-after"),
        ({"run_for": "-1s"}, "run-for should be a duration"),
        ({"run_for__main": "87601h"}, "run-for.main should be at most 87600h"),
        ({"time_to_pull": "x"}, "time-to-pull should be a duration"),
        ({"sandbox_dies_after": "x"}, "sandbox-dies-after should be a duration"),
        ({"exits": ""}, "exits should be 1 to 100 of these"),
        ({"exits": "1,256"}, "exits should be 1 to 100 of these"),
        ({"exits": ",".join("0" * 101)}, "exits should be 1 to 100 of these"),
        ({"exits": "9" * 5000}, "exits should be 1 to 100 of these"),
        ({"stop_exit_code": "-1"}, "stop-exit-code should be a number from 0 to 255"),
        ({"pull_error_times": "1001"}, "pull-error-times should be a number from 0 to 1000"),
        ({"ignores_sigterm": "yes"}, "ignores-sigterm should be true or false"),
        ({"message": "x" * 4097}, "message should be a text of at most 4096 characters"),
        ({"create_error": ""}, "create-error should be a text"),
        ({"run_fore": "1s"}, "run-fore is not known; known are create-error, ends-by-signal"),
        ({"run_for__other": "1s"}, "run-for.other names no container of the pod"),
        ({"sandbox_error__main": "x"}, "sandbox-error.main is about the pod as a whole"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_name_of_the_annotation(
    said: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UnreadableAnnotationError) as caught:
        behaviour(**said)
    assert str(caught.value).startswith(f"annotation hollow.actorlet/{complaint}")
    assert "99999" not in str(caught.value)


def test_images_and_sandboxes_have_annotations_too() -> None:
    behaviours = Behaviours(RULES)
    pod = hollow_pod(
        spec=spec(),
        pull_error="gone",
        pull_error_times="2",
        time_to_pull__first="3s",
        time_to_create_sandbox="1s",
        sandbox_error="full",
        sandbox_dies_after="1s-2s",
    )
    image = behaviours.of_image(pod, "m")
    assert (image.error, image.failures, image.to_pull) == ("gone", 2, NO_TIME)
    assert behaviours.of_image(pod, "i").to_pull == span(3)
    assert behaviours.of_image(pod, "unknown").error == ""
    sandbox = behaviours.of_sandbox(pod)
    assert (sandbox.to_create, sandbox.error, sandbox.dies_after) == (span(1), "full", span(1, 2))


def test_what_cannot_be_read_of_images_and_sandboxes_counts_for_nothing_there() -> None:
    behaviours = Behaviours(rules_of({"time-to-pull": span(2)}))
    pod = hollow_pod(time_to_pull="x", time_to_create_sandbox="y", pull_fails="z")
    assert behaviours.of_image(pod, "registry.example/web:1").to_pull == span(2)
    assert behaviours.of_sandbox(pod).to_create == NO_TIME


def test_rules_are_for_what_annotations_do_not_say() -> None:
    rules = rules_of({"time-to-start": span(2), "run-for": span(9), "time-to-stop": span(3)})
    found = behaviour(rules=rules, spec=spec("Never"), time_to_stop="1s")
    assert (found.to_start, found.run_for, found.to_stop) == (span(2), span(9), span(1))


def test_equal_behaviours_are_one_object() -> None:
    behaviours = Behaviours(RULES)
    pods = [hollow_pod(f"p{n}", run_for="1s") for n in range(3)]
    found = [behaviours.of_container(pod, container_of(pod, "main")) for pod in pods]
    assert len(set(map(id, found))) == 1


def test_thousands_of_different_behaviours_are_not_all_kept() -> None:
    behaviours = Behaviours(RULES)
    for number in range(3000):
        pod = hollow_pod(run_for=f"{number}s")
        assert behaviours.of_container(pod, container_of(pod, "main")).run_for == span(number)
    assert len(behaviours._known) <= 1024


def test_a_draw_repeats_and_differs_by_name_and_seed() -> None:
    wide = span(1, 5)
    drawn_ = [drawn(wide, "s", "uid-1", "main", n) for n in range(100)]
    assert drawn_ == [drawn(wide, "s", "uid-1", "main", n) for n in range(100)]
    assert len(set(drawn_)) == 100
    assert 1 <= min(drawn_) < 1.5
    assert 4.5 < max(drawn_) <= 5
    assert drawn(wide, "t", "uid-1", "main", 0) != drawn_[0]
    assert drawn(span(3), "s", "uid-1") == Seconds(3)


def test_ten_years_are_long_enough() -> None:
    assert behaviour(run_for="87600h").run_for == span(LONGEST_SPAN)
