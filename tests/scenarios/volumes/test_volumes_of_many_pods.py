"""Many pods that show one Secret: they have turns, and none is left out."""

from __future__ import annotations

import pytest

from actors.volumes.keeper import AT_ONCE
from messages.objects import ObjectKind
from messages.pods import Pod
from tests.support.volumes.volume_stage import VolumeStage, pod_with

SECRET = {"name": "s", "secret": {"secretName": "pw"}}
PW = ObjectKind.SECRET


@pytest.fixture
def pods(volumes: VolumeStage) -> list[Pod]:
    volumes.puts(PW, "pw", user="me")
    pods = [pod_with(f"web-{number}", SECRET) for number in range(3 * AT_ONCE)]
    for pod in pods:
        volumes.wants(pod)
    volumes.passes(1.0)
    volumes.most_in_a_turn = 0
    return pods


def test_many_pods_that_show_one_secret_have_turns_and_others_are_heard_between_them(
    volumes: VolumeStage, pods: list[Pod]
) -> None:
    volumes.puts(PW, "pw", user="you")
    assert volumes.most_in_a_turn <= AT_ONCE
    assert {
        pod.uid for pod in pods if volumes.files(pod, "secret", "s") != {"user": b"you"}
    } == set()
    volumes.passes(1.0)
    assert volumes.most_in_a_turn <= AT_ONCE


def test_outcomes_that_come_together_are_taken_in_over_several_turns(
    volumes: VolumeStage, pods: list[Pod]
) -> None:
    volumes.lanes.is_paused = True
    value = volumes.puts(PW, "pw", user="you")
    volumes.writes()
    assert all([*volumes.seen(pod).shown.values()] == [value.resource_version] for pod in pods)
    assert not volumes.memory.jobs


@pytest.mark.parametrize("message", range(1, 8))
def test_a_crash_between_the_turns_leaves_no_pod_out(
    volumes: VolumeStage, pods: list[Pod], message: int
) -> None:
    volumes.crash_at = volumes.handled + message
    volumes.puts(PW, "pw", user="you")
    volumes.passes(5.0)
    assert {
        pod.uid for pod in pods if volumes.files(pod, "secret", "s") != {"user": b"you"}
    } == set()


def test_a_life_that_begins_looks_at_some_pods_at_a_time(
    volumes: VolumeStage, pods: list[Pod]
) -> None:
    for pod in pods:
        volumes.place(pod, "secret", "s").rename(volumes.directory(pod) / "away")
    volumes.crashes()
    volumes.puts(PW, "pw", user="you")
    assert volumes.most_in_a_turn <= AT_ONCE
    assert {
        pod.uid for pod in pods if volumes.files(pod, "secret", "s") != {"user": b"you"}
    } == set()


def test_a_large_config_map_has_all_its_keys_and_a_change_of_one_is_seen(
    volumes: VolumeStage,
) -> None:
    keys = {f"key-{number}": f"{number}" * 256 for number in range(1000)}
    volumes.puts(ObjectKind.CONFIG_MAP, "large", **keys)
    pod = pod_with("web", {"name": "c", "configMap": {"name": "large"}})
    volumes.wants(pod)
    assert volumes.files(pod, "configmap", "c") == {key: keys[key].encode() for key in keys}
    volumes.passes(1.0)
    fewer = {**keys, "key-999": "new", "new": "x"}
    del fewer["key-0"]
    volumes.puts(ObjectKind.CONFIG_MAP, "large", **fewer)
    volumes.passes(1.0)
    assert volumes.files(pod, "configmap", "c") == {key: fewer[key].encode() for key in fewer}
    assert len(list(volumes.place(pod, "configmap", "c").iterdir())) == len(fewer) + 2
