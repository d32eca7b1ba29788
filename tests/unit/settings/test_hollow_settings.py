"""What the agent is told about hollow containers."""

from __future__ import annotations

import pytest

from manifests.durations import Span
from messages.units import Seconds
from settings.flags.command_line import parse
from settings.runtime import HollowSettings
from settings.values.hollow_times import NAMES, hollow_times
from tests.support.settings.settled import refusal, settled


def span(least: float, most: float) -> Span:
    return Span(Seconds(least), Seconds(most))


def hollow_of(*arguments: str) -> HollowSettings:
    runtime = settled("--runtime=hollow", *arguments).runtime
    assert runtime is not None
    return runtime.hollow


def test_times_are_read_by_their_names() -> None:
    hollow = hollow_of("--hollow-times=time-to-pull=2s-5s, run-for=1m,", "--hollow-seed=a")
    assert hollow.times == {"time-to-pull": span(2, 5), "run-for": span(60, 60)}
    assert hollow.seed == "a"
    assert hollow_of() == HollowSettings()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("exits=1", f"should be NAME=DURATION,... where NAME is one of {', '.join(NAMES)}"),
        ("run-for", "run-for should be a duration such as 300ms, or a range such as 1s-5s"),
        ("run-for=5s-1s", "run-for should be a range from the shorter to the longer duration"),
        ("run-for=87601h", "run-for should be at most 87600h"),
    ],
)
def test_other_times_are_refused_with_their_name(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="should be") as caught:
        hollow_times(text)
    assert str(caught.value) == complaint
    assert complaint in refusal(lambda: parse([f"--hollow-times={text}"]))


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("--hollow-times=run-for=1s,time-to-pull=1s,run-for=2s", "run-for"),
        ("--hollow-capacity=cpu=1,cpu=2", "cpu"),
        ("--node-labels=zone=a,zone=b", "zone"),
        ("--system-reserved=memory=1Gi,memory=2Gi", "memory"),
        ("--eviction-hard=memory.available<1Gi,memory.available<2Gi", "memory.available"),
    ],
)
def test_a_name_with_two_values_is_refused(flag: str, name: str) -> None:
    said = refusal(lambda: parse([flag]))
    assert f"has two values for {name!r}" in said
    assert flag.split("=", maxsplit=1)[0] in said


def test_the_same_value_may_be_said_twice() -> None:
    assert parse(["--node-labels=zone=a,zone=a"]).node_labels == {"zone": "a"}
    assert hollow_times("run-for=1s,run-for=1000ms") == {"run-for": span(1, 1)}


@pytest.mark.parametrize(
    "flag", ["--hollow-times=run-for=1s", "--hollow-seed=a", "--hollow-records"]
)
def test_times_of_hollow_containers_are_for_a_hollow_node(flag: str) -> None:
    said = refusal(lambda: settled(flag, "--runtime=shop.node:Node"))
    assert said == f"{flag.split('=', maxsplit=1)[0]} has an effect only with --runtime hollow"
