"""A pod has something done about changes of its objects, once it can see them, and once for each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from actors.pods.orders import worker_key
from actors.pods.rollout_keeper import LONGEST_TURN
from manifests.change_hooks import ON_OBJECT_CHANGE, ROLLOUT_GROUP
from messages.change_hooks import HookResult
from messages.events import EventType
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ObjectChanged,
    ObjectId,
    ObjectKind,
)
from messages.pod_runtime import RunPod
from messages.pods import API, Pod
from messages.units import Seconds
from tests.support.pod_lives.kept_in_memory import KeptInMemory
from tests.support.pod_lives.lives_stage import LivesStage, LivesWorld, api_pod, lives_stage
from tests.support.pod_lives.plain_runtime import PLAIN_RUNTIME, LooksAgain
from tests.support.pod_lives.plain_volumes import PlainVolumes

SETTINGS = ObjectId(kind=ObjectKind.CONFIG_MAP, namespace="default", name="settings")
MOUNT = {"name": "settings", "mountPath": "/etc/settings"}
VOLUME = {"name": "settings", "configMap": {"name": "settings"}}
ENV = {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}


class HookStage:
    """One life of an agent, and a ConfigMap that changes."""

    def __init__(self, lives: LivesStage, volumes: PlainVolumes) -> None:
        self.lives, self.volumes = lives, volumes

    def begins(self, *pods: Pod) -> None:
        self.volumes.shown[SETTINGS] = self.put("0")
        self.lives.lists(API, *pods)
        self.lives.ran()

    def put(self, level: str) -> str:
        """Change the ConfigMap, and return its version."""
        objects = self.lives.world.objects
        objects.put(ObjectKind.CONFIG_MAP, "settings", level=level)
        return objects.values[ObjectKind.CONFIG_MAP, "settings"].resource_version

    def changes(self, *pods: Pod, level: str = "1", delay: float = 0.0, shown: bool = True) -> str:
        """Change the ConfigMap, and have decided what the pods do about it."""
        objects = self.lives.world.objects
        objects.asked += 10  # the next version is a later one
        objects.when_set = partial(self._decides, pods, delay)
        version = self.put(level)
        objects.when_set = lambda _version: None
        if shown:
            self.volumes.shows(SETTINGS, version)
            self.lives.play.settle()
        return version

    def _decides(self, pods: Iterable[Pod], delay: float, version: str) -> None:
        for pod in pods:
            action, _, signal = pod.annotations[ON_OBJECT_CHANGE].partition(":")
            changed = ObjectChanged(
                object=SETTINGS,
                change=Change.MODIFIED,
                uid="settings",
                resource_version=version,
                keys=("level",),
            )
            decided = ChangeDecided(
                pod=pod.uid,
                pod_name=pod.display_name,
                action=ChangeAction(action),
                signal=signal,
                delay=Seconds(delay),
                changed=changed,
            )
            self.lives.play.tell(worker_key(pod.uid), decided)

    def said(self) -> list[tuple[str, str]]:
        return [(event.reason, event.message) for event in self.lives.world.events.drain()]

    def count(self, action: ChangeAction, result: HookResult) -> int:
        return self.lives.rollouts.counts[action, result]


@pytest.fixture
def volumes() -> PlainVolumes:
    return PlainVolumes()


@pytest.fixture
def world(volumes: PlainVolumes) -> LivesWorld:
    return LivesWorld(volumes=volumes, records=KeptInMemory())


@pytest.fixture
def stage(world: LivesWorld, volumes: PlainVolumes) -> Iterator[HookStage]:
    with lives_stage(world=world) as lives:
        yield HookStage(lives, volumes)


def hooked(hook: str = "restart", name: str = "web", group: str = "", **container: Any) -> Pod:
    """Return a pod that uses the ConfigMap in files, unless its container says otherwise."""
    main = {"name": "main", **(container or {"volumeMounts": [MOUNT]})}
    annotations = {ON_OBJECT_CHANGE: hook} | ({ROLLOUT_GROUP: group} if group else {})
    spec = {"containers": [main], "volumes": [VOLUME]}
    return api_pod(name, spec=spec, annotations=annotations)


# --- signals -------------------------------------------------------------------------------------------


def test_a_signal_is_sent_once_the_files_show_the_change(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    version = stage.changes(web, shown=False)
    stage.lives.play.advance(1.0)
    assert stage.lives.ran() == []
    stage.volumes.shows(SETTINGS, version)
    stage.lives.play.settle()
    assert stage.lives.ran() == ["SIGHUP web/main#0"]
    told = 'Sent SIGHUP to container main: ConfigMap "settings" changed'
    assert stage.said() == [("ObjectChanged", told)]
    assert stage.count(ChangeAction.SIGNAL, HookResult.DONE) == 1


def test_a_later_version_in_the_files_will_do(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    version = stage.changes(web, shown=False)
    stage.volumes.shows(SETTINGS, str(int(version) + 5))
    stage.lives.play.settle()
    assert stage.lives.ran() == ["SIGHUP web/main#0"]


def test_several_changes_within_the_splay_are_one_signal(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    stage.changes(web, level="1", delay=10.0)
    stage.lives.play.advance(5.0)
    stage.changes(web, level="2", delay=3.0)
    assert stage.lives.ran() == []
    stage.lives.play.advance(5.1)
    assert stage.lives.ran() == ["SIGHUP web/main#0"]
    stage.lives.play.advance(60.0)
    assert stage.lives.ran() == []
    stage.changes(web, level="3")
    assert stage.lives.ran() == ["SIGHUP web/main#0"]


def test_a_container_that_was_started_after_the_change_needs_no_signal(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    stage.changes(web, delay=10.0)
    stage.lives.exits(web)
    stage.lives.play.advance(11.0)
    assert stage.lives.ran() == ["stop web/main#0", "start web/main#1"]
    assert stage.count(ChangeAction.SIGNAL, HookResult.NOT_NEEDED) == 1


def test_a_signal_that_cannot_be_sent_is_an_event(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    stage.lives.machine.signal_trouble = "no kill in it"
    stage.changes(web)
    told = "Could not send SIGHUP to container main: no kill in it"
    assert stage.said() == [("FailedSignal", told)]
    assert stage.count(ChangeAction.SIGNAL, HookResult.FAILED) == 1


def test_a_signal_that_nobody_answers_is_sent_again_and_given_up(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    stage.lives.machine.loses_signals = True
    stage.changes(web)
    stage.lives.play.advance(39.0)
    stage.lives.machine.loses_signals = False
    stage.lives.play.advance(2.0)
    assert stage.lives.ran() == ["SIGHUP web/main#0"]
    stage.lives.machine.loses_signals = True
    stage.changes(web, level="2")
    stage.lives.play.advance(130.0)
    told = "Could not send SIGHUP to container main: the runtime does not answer"
    assert ("FailedSignal", told) in stage.said()


def test_a_part_of_a_volume_never_changes_so_nobody_is_signalled_for_it(stage: HookStage) -> None:
    part = {**MOUNT, "subPath": "level"}
    web = hooked("signal:SIGHUP", volumeMounts=[part])
    stage.begins(web)
    stage.changes(web)
    assert stage.lives.ran() == []


def test_what_is_never_seen_has_nothing_done_and_is_said(stage: HookStage) -> None:
    web = hooked("signal:SIGHUP")
    stage.begins(web)
    version = stage.changes(web, shown=False)
    stage.volumes.trouble = "no space left on device"
    stage.volumes.tells()
    stage.lives.play.advance(31.0)
    assert stage.lives.ran() == []
    told = (
        'Nothing is done yet about the change of ConfigMap "settings": the pod does not see it: '
        "no space left on device"
    )
    events = [(each.type, each.reason, each.message) for each in stage.lives.world.events.drain()]
    assert events == [(EventType.WARNING, "ObjectNotShown", told)]
    # It is done all the same when somebody makes room.
    stage.volumes.trouble = ""
    stage.volumes.shows(SETTINGS, version)
    stage.lives.play.settle()
    assert stage.lives.ran() == ["SIGHUP web/main#0"]


def test_decisions_about_other_pods_are_theirs(stage: HookStage) -> None:
    web, other = hooked("signal:SIGHUP"), hooked("signal:SIGHUP", "other")
    stage.begins(web, other)
    stage.changes(other)
    assert stage.lives.ran() == ["SIGHUP other/main#0"]


# --- restarts ------------------------------------------------------------------------------------------


def restarts(stage: HookStage) -> list[str]:
    return [line for line in stage.lives.ran() if line.startswith("start")]


def test_a_restart_is_named_to_the_runtime_with_the_instance_that_is_meant(
    stage: HookStage,
) -> None:
    web = hooked()
    stage.begins(web)
    stage.changes(web)
    assert stage.lives.ran() == ["stop web/main#0", "start web/main#1"]
    told = 'Restarting container main: ConfigMap "settings" changed'
    assert stage.said() == [("ObjectChanged", told)]
    # Whatever is told again, it stays one restart.
    stage.lives.worker_crashes(web)
    stage.lives.play.advance(60.0)
    assert stage.lives.ran() == []


def test_a_container_with_the_object_in_its_variables_is_started_with_the_new_ones(
    stage: HookStage,
) -> None:
    web = hooked(env=[ENV])
    stage.begins(web)
    stage.changes(web, level="debug", shown=False)
    stage.lives.play.settle()
    assert restarts(stage) == ["start web/main#1"]
    command = stage.lives.machine.runs[-1]
    assert command.objects[SETTINGS].data["level"] == b"debug"


@pytest.mark.parametrize("delay", [0.0, 3.0])
def test_a_container_that_was_being_started_meanwhile_is_restarted_once_it_is_known_to_run(
    stage: HookStage, delay: float
) -> None:
    web = hooked()
    stage.begins(web)
    stage.lives.play.advance(1.0)
    stage.lives.machine.is_silent = True  # the next instance begins with what is there now
    stage.lives.exits(web)
    stage.lives.play.advance(1.0)
    stage.changes(web, delay=delay)
    stage.lives.play.advance(1.0)
    stage.lives.machine.is_silent = False
    stage.lives.play.tell(PLAIN_RUNTIME, LooksAgain())
    stage.lives.play.advance(10.0)
    assert restarts(stage) == ["start web/main#1", "start web/main#2"]
    # That one has the change from its beginning.
    stage.lives.exits(web)
    stage.lives.play.advance(60.0)
    assert restarts(stage) == ["start web/main#3"]


def test_a_container_that_is_made_after_the_change_was_seen_is_not_restarted(
    stage: HookStage,
) -> None:
    web = hooked()
    stage.begins(web)
    stage.lives.machine.is_silent = True
    stage.changes(web, delay=3.0)
    stage.lives.play.advance(1.0)
    stage.lives.exits(web)
    stage.lives.play.advance(10.0)
    stage.lives.machine.is_silent = False
    stage.lives.play.tell(PLAIN_RUNTIME, LooksAgain())
    stage.lives.play.advance(60.0)
    assert restarts(stage) == ["start web/main#1"]


def test_a_runtime_that_restarts_no_containers_is_an_event(
    world: LivesWorld, volumes: PlainVolumes
) -> None:
    world.restarts_containers = False
    with lives_stage(world=world) as lives:
        stage = HookStage(lives, volumes)
        web = hooked(group="web")
        stage.begins(web)
        stage.changes(web)
        assert restarts(stage) == []
        told = "Container main is not restarted: the runtime cannot"
        assert stage.said() == [("FailedRestart", told)]


def test_only_containers_that_use_the_object_are_restarted(stage: HookStage) -> None:
    main = {"name": "main", "volumeMounts": [{**MOUNT, "subPath": "level"}]}
    annotations = {ON_OBJECT_CHANGE: "restart"}
    spec = {"containers": [main, {"name": "other"}], "volumes": [VOLUME]}
    web = api_pod(spec=spec, annotations=annotations)
    stage.begins(web)
    stage.changes(web)
    assert restarts(stage) == ["start web/main#1"]


def test_a_pod_that_is_deleted_within_the_splay_restarts_nothing(stage: HookStage) -> None:
    web = hooked()
    stage.begins(web)
    stage.changes(web, delay=5.0)
    stage.lives.lists(API)
    stage.lives.play.advance(60.0)
    assert restarts(stage) == []
    assert stage.count(ChangeAction.RESTART, HookResult.CANCELLED) == 1


def test_the_splay_goes_on_after_a_crash_of_the_worker(stage: HookStage) -> None:
    web = hooked()
    stage.begins(web)
    stage.changes(web, delay=20.0)
    stage.lives.play.advance(10.0)
    stage.lives.worker_crashes(web)
    assert restarts(stage) == []
    stage.lives.play.advance(10.0)
    assert restarts(stage) == ["start web/main#1"]


# --- groups --------------------------------------------------------------------------------------------


def group_of_three() -> list[Pod]:
    return [hooked(name=name, group="web") for name in ("a", "b", "c")]


def named(line: str) -> str:
    """Return the pod of a line of the diary."""
    return line.removeprefix("start ").partition("/")[0]


def is_not_ready(stage: HookStage) -> None:
    """Have containers be not ready from now on, when they start."""
    stage.lives.machine.starts_ready = False


def test_pods_of_a_group_restart_one_at_a_time(stage: HookStage) -> None:
    pods = group_of_three()
    stage.begins(*pods)
    is_not_ready(stage)
    stage.changes(*pods)
    order = []
    for _ in pods:
        (started,) = restarts(stage)
        order.append(started)
        stage.lives.play.advance(45.0)
        assert restarts(stage) == []
        stage.lives.becomes_ready(named(started))
    assert sorted(order) == ["start a/main#1", "start b/main#1", "start c/main#1"]
    assert stage.lives.rollouts.turns.groups == {}


def test_pods_of_another_group_wait_for_nobody(stage: HookStage) -> None:
    one, other = hooked(name="a", group="x"), hooked(name="b", group="y")
    stage.begins(one, other)
    is_not_ready(stage)
    stage.changes(one, other)
    assert sorted(restarts(stage)) == ["start a/main#1", "start b/main#1"]


def test_a_container_that_never_gets_ready_holds_the_others_up_for_a_while(
    stage: HookStage,
) -> None:
    pods = group_of_three()
    stage.begins(*pods)
    is_not_ready(stage)
    stage.changes(*pods)
    assert len(restarts(stage)) == 1
    stage.said()
    stage.lives.play.advance(LONGEST_TURN + 1.0)
    assert len(restarts(stage)) == 1
    assert [reason for reason, _ in stage.said() if reason != "ObjectChanged"] == [
        "RolloutTakesTooLong"
    ]


def test_a_pod_that_is_deleted_in_its_turn_gives_it_back(stage: HookStage) -> None:
    pods = group_of_three()
    stage.begins(*pods)
    is_not_ready(stage)
    stage.changes(*pods)
    (first,) = restarts(stage)
    rest = [pod for pod in pods if f" {pod.name}/" not in first]
    stage.lives.lists(API, *rest)
    assert len(restarts(stage)) == 1


@pytest.mark.parametrize("who", ["rollouts", "worker", "waiting worker"])
def test_a_crash_neither_lets_two_go_nor_none(stage: HookStage, who: str) -> None:
    pods = group_of_three()
    stage.begins(*pods)
    is_not_ready(stage)
    stage.changes(*pods)
    started = restarts(stage)
    for _ in range(3):
        if who == "rollouts":
            stage.lives.crashes("rollouts")
        else:
            is_meant = who == "worker"
            for pod in pods:
                if (f" {pod.name}/" in started[-1]) == is_meant:
                    stage.lives.worker_crashes(pod)
        stage.lives.play.advance(31.0)
        assert restarts(stage) == []
        stage.lives.becomes_ready(named(started[-1]))
        started += restarts(stage)
    assert sorted(started) == ["start a/main#1", "start b/main#1", "start c/main#1"]


# --- over the end of the process -----------------------------------------------------------------------


def next_process(world: LivesWorld) -> None:
    world.machine.forget_commands()


def test_a_change_that_nothing_was_done_about_is_decided_by_the_next_process(
    world: LivesWorld, volumes: PlainVolumes
) -> None:
    web = hooked()
    with lives_stage(world=world) as lives:
        stage = HookStage(lives, volumes)
        stage.begins(web)
        stage.changes(web, delay=60.0)
    next_process(world)
    with lives_stage(world=world) as lives:
        lives.lists(API, web)
        assert [missed.pod for missed in world.objects.missed] == [web.uid]


def test_a_restart_that_has_begun_goes_on_in_the_next_process_and_is_not_decided_again(
    world: LivesWorld, volumes: PlainVolumes
) -> None:
    web = hooked()
    with lives_stage(world=world) as lives:
        stage = HookStage(lives, volumes)
        stage.begins(web)
        stage.changes(web)
    (named,) = world.machine.runs[-1].outdated
    next_process(world)
    with lives_stage(world=world) as lives:
        lives.lists(API, web)
        command = lives.machine.pods[web.uid].command
        assert isinstance(command, RunPod)
        assert command.outdated == {named}
        assert world.objects.missed == []


def test_a_signal_that_was_sent_is_not_decided_again_by_the_next_process(
    world: LivesWorld, volumes: PlainVolumes
) -> None:
    web = hooked("signal:SIGHUP")
    with lives_stage(world=world) as lives:
        stage = HookStage(lives, volumes)
        stage.begins(web)
        stage.changes(web)
    next_process(world)
    with lives_stage(world=world) as lives:
        lives.lists(API, web)
        assert world.objects.missed == []
