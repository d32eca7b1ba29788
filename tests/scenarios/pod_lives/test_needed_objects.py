"""A pod waits for the Secrets and ConfigMaps that it requires, and for nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from messages.objects import ObjectId, ObjectKind, ReadVerdict
from messages.pod_lives import PodLife
from messages.pods import API, FILE, Pod, PodPhase
from tests.support.builders import edited, make_pod
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage


def with_volume(*, optional: bool = False) -> Pod:
    """Return a pod with a volume of the Secret ``keys``."""
    secret: dict[str, Any] = {"secretName": "keys", "optional": optional}
    container = {"name": "main", "volumeMounts": [{"name": "keys", "mountPath": "/keys"}]}
    spec = {"containers": [container], "volumes": [{"name": "keys", "secret": secret}]}
    return api_pod(spec=spec)


def with_variable(*, optional: bool = False) -> Pod:
    """Return a pod with a variable of the ConfigMap ``settings``."""
    reference = {"name": "settings", "key": "level", "optional": optional}
    source = {"configMapKeyRef": reference}
    container = {"name": "main", "env": [{"name": "LEVEL", "valueFrom": source}]}
    return api_pod(spec={"containers": [container]})


SETTINGS = ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="default", name="settings")


def test_a_pod_without_references_asks_nobody(lives: LivesStage) -> None:
    lives.lists(FILE, make_pod("web"))
    assert lives.world.objects.asked == 0


def test_a_pod_waits_for_the_secret_of_a_volume_and_starts_when_it_appears(
    lives: LivesStage,
) -> None:
    web = with_volume()
    lives.lists(API, web)
    assert lives.ran() == []
    assert lives.status(web).phase is PodPhase.PENDING
    lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")
    lives.play.settle()
    assert lives.ran() == ["start web/main#0"]


def test_what_a_pod_can_do_without_is_not_waited_for(lives: LivesStage) -> None:
    lives.lists(API, with_volume(optional=True))
    assert lives.ran() == ["start web/main#0"]


def test_a_secret_that_nobody_told_of_is_found_by_looking_again(lives: LivesStage) -> None:
    lives.lists(API, with_volume())
    lives.world.objects.followers.clear()
    lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")
    lives.play.advance(10.0)
    assert lives.ran() == ["start web/main#0"]


def test_a_pod_that_runs_needs_the_files_of_its_volumes_no_more() -> None:
    world = LivesWorld()
    world.machine.has_running(with_volume())
    with lives_stage(world=world) as lives:
        lives.lists(API, with_volume())
        assert lives.commanded() == ["run web"]


def test_a_deleted_secret_disturbs_no_pod_that_runs(lives: LivesStage) -> None:
    lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")
    lives.lists(API, with_volume())
    del lives.world.objects.values[ObjectKind.SECRET, "keys"]
    lives.worker_crashes(with_volume())
    assert lives.commanded() == ["run web", "run web"]
    assert lives.ran() == ["start web/main#0"]


def test_variables_are_told_with_the_pod_and_told_again_when_they_change(
    lives: LivesStage,
) -> None:
    web = with_variable()
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.lists(API, web)
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="debug")
    lives.play.settle()
    assert [values[SETTINGS].data["level"] for values in lives.machine.objects] == [
        b"info",
        b"debug",
    ]
    assert lives.ran() == ["start web/main#0"]


def test_pull_secrets_are_told_with_the_pod_and_not_waited_for(lives: LivesStage) -> None:
    lives.lists(API, api_pod(spec={"imagePullSecrets": [{"name": "quay"}]}))
    assert lives.ran() == ["start web/main#0"]
    lives.world.objects.put(ObjectKind.SECRET, "quay", key="value")
    lives.play.settle()
    assert [list(values) for values in lives.machine.objects] == [
        [],
        [ObjectId(kind=ObjectKind.SECRET, namespace="default", name="quay")],
    ]


def test_a_missing_variable_is_the_containers_trouble_and_not_the_pods(lives: LivesStage) -> None:
    lives.lists(API, with_variable())
    assert lives.machine.objects == [{}]
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.play.settle()
    assert SETTINGS in lives.machine.objects[-1]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_pod_that_ends_lets_go_of_its_objects(lives: LivesStage, *, is_there: bool) -> None:
    if is_there:
        lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")
    lives.lists(API, with_volume())
    assert lives.world.objects.registered == {with_volume().uid}
    lives.lists(API)
    assert lives.world.objects.registered == set()
    assert not any(lives.world.objects.followers.values())
    assert lives.lives() == {}


def test_a_pod_is_removed_while_it_waits(lives: LivesStage) -> None:
    web = with_volume()
    lives.lists(API, web)
    assert lives.lives() == {web.uid: PodLife.SYNC}
    lives.lists(API)
    assert lives.ran() == []
    assert lives.lives() == {}


def test_an_edit_that_drops_the_reference_starts_the_pod(lives: LivesStage) -> None:
    lives.lists(API, with_volume())
    lives.lists(API, api_pod())
    assert lives.ran() == ["start web/main#0"]


def test_an_edit_that_needs_an_object_for_more_has_it_read_again(lives: LivesStage) -> None:
    settings = {"name": "settings", "configMap": {"name": "settings"}}
    by_volume = api_pod(spec={"containers": [{"name": "main"}], "volumes": [settings]})
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.lists(API, by_volume)
    lives.lists(API, with_variable())
    assert [values.get(SETTINGS) is not None for values in lives.machine.objects] == [False, True]


def test_an_edit_that_needs_the_same_asks_nobody_again(lives: LivesStage) -> None:
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.lists(API, with_variable())
    reads = lives.world.objects.reads
    labelled = {**with_variable().document["metadata"], "labels": {"a": "b"}}
    lives.lists(API, edited(with_variable(), metadata=labelled))
    assert lives.world.objects.reads == reads
    assert lives.commanded() == ["run web", "run web"]


def test_a_read_that_nobody_answers_holds_a_pod_up_for_a_moment_only(lives: LivesStage) -> None:
    lives.world.objects.is_silent = True
    lives.lists(API, with_variable())
    assert lives.ran() == []
    lives.play.advance(3.0)
    assert lives.ran() == ["start web/main#0"]
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.world.objects.is_silent = False
    lives.play.advance(10.0)
    assert SETTINGS in lives.machine.objects[-1]


def test_a_new_pod_waits_a_second_for_a_fresh_value_and_goes_on_with_what_is_known(
    lives: LivesStage,
) -> None:
    objects = lives.world.objects
    objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    objects.look(SETTINGS)
    objects.is_silent = True
    lives.lists(API, with_variable())
    lives.play.advance(0.9)
    assert lives.ran() == []
    lives.play.advance(0.2)
    assert lives.ran() == ["start web/main#0"]
    assert SETTINGS in lives.machine.objects[-1]
    (taken,) = objects.taken
    assert (taken.object, taken.verdict) == (SETTINGS, ReadVerdict.FOUND)


def test_a_pod_that_crashed_while_it_waited_goes_on_waiting(lives: LivesStage) -> None:
    lives.lists(API, with_volume())
    lives.worker_crashes(with_volume())
    assert lives.ran() == []
    lives.world.objects.put(ObjectKind.SECRET, "keys", key="value")
    lives.play.settle()
    assert lives.ran() == ["start web/main#0"]


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (ReadVerdict.FORBIDDEN, "may not be read by this node"),
        (ReadVerdict.NOT_SYNCED, "not read yet"),
        (ReadVerdict.UNUSABLE, "cannot be used"),
    ],
)
def test_why_an_object_of_a_variable_cannot_be_read_is_told(
    lives: LivesStage, verdict: ReadVerdict, sentence: str
) -> None:
    lives.world.objects.unread[ObjectKind.CONFIG_MAP, "settings"] = verdict
    lives.lists(API, with_variable(optional=True))
    assert lives.machine.runs[-1].unread == {SETTINGS: sentence}
    lives.world.objects.unread.clear()
    lives.play.advance(10.0)
    assert lives.machine.runs[-1].unread == {}
    assert lives.machine.objects[-1] == {}


def test_an_optional_object_that_is_not_there_has_nobody_wait(lives: LivesStage) -> None:
    lives.lists(API, with_variable(optional=True))
    assert (lives.machine.runs[-1].unread, lives.machine.objects) == ({}, [{}])
    reads = lives.world.objects.reads
    lives.play.advance(100.0)
    assert lives.world.objects.reads == reads
    lives.world.objects.put(ObjectKind.CONFIG_MAP, "settings", level="info")
    lives.play.settle()
    assert SETTINGS in lives.machine.objects[-1]
