"""Which containers an action about a changed object is for."""

from __future__ import annotations

from typing import Any

import pytest

from actors.pods.records import ObjectVersion
from actors.pods.worker.object_hooks import (
    containers_using,
    is_at_least,
    is_back,
    is_in_files,
    is_in_variables,
    is_seen,
    rollout_group,
)
from messages.change_hooks import RolloutGroup
from messages.objects import ChangeAction, ObjectId, ObjectKind, Origin
from messages.pod_runtime import (
    ContainerHistory,
    ContainerObserved,
    ContainerState,
    Mark,
    PodObserved,
    ProbeVerdict,
)
from messages.pods import Pod, PodUid
from messages.volumes import VolumesAre
from tests.support.builders import make_pod

CONFIG = ObjectId(
    kind=ObjectKind.CONFIG_MAP, namespace="default", name="config", origin=Origin.LOCAL
)
VOLUMES = [
    {"name": "plain", "configMap": {"name": "config"}},
    {"name": "joined", "projected": {"sources": [{"configMap": {"name": "config"}}]}},
    {"name": "other", "configMap": {"name": "other"}},
    {"name": "secret", "secret": {"secretName": "config"}},
    {"name": "unmounted", "configMap": {"name": "unmounted"}},
    {"name": "empty", "emptyDir": {}},
]


def uses(**containers: dict[str, Any]) -> Pod:
    spec = {
        "containers": [{"name": name, **fields} for name, fields in containers.items()],
        "volumes": VOLUMES,
    }
    return make_pod(spec=spec)


def mounts(volume: str, **fields: str) -> dict[str, Any]:
    return {"volumeMounts": [{"name": volume, "mountPath": "/x", **fields}]}


REFERENCE = {"configMapKeyRef": {"name": "config", "key": "a"}}


@pytest.mark.parametrize(
    ("container", "gets_signal", "restarts"),
    [
        (mounts("plain"), True, True),
        (mounts("joined"), True, True),
        (mounts("plain", subPath="a"), False, True),
        (mounts("plain", subPathExpr="$(A)"), False, True),
        (mounts("other"), False, False),
        (mounts("secret"), False, False),
        (mounts("empty"), False, False),
        ({"env": [{"name": "A", "valueFrom": REFERENCE}]}, False, True),
        ({"envFrom": [{"configMapRef": {"name": "config"}}]}, False, True),
        ({"envFrom": [{"secretRef": {"name": "config"}}]}, False, False),
        ({}, False, False),
    ],
)
def test_who_gets_a_signal_and_who_is_restarted(
    container: dict[str, Any], *, gets_signal: bool, restarts: bool
) -> None:
    pod = uses(main=container, bystander={})
    signalled = containers_using(pod, CONFIG, ChangeAction.SIGNAL)
    restarted = containers_using(pod, CONFIG, ChangeAction.RESTART)
    assert signalled == ({"main"} if gets_signal else set())
    assert restarted == ({"main"} if restarts else set())


def test_sidecars_are_meant_and_init_containers_are_not() -> None:
    inits = [
        {"name": "once", **mounts("plain")},
        {"name": "proxy", "restartPolicy": "Always", **mounts("plain")},
    ]
    pod = make_pod(spec={"initContainers": inits, "containers": [], "volumes": VOLUMES})
    assert containers_using(pod, CONFIG, ChangeAction.RESTART) == {"proxy"}


def test_where_a_pod_has_an_object() -> None:
    pod = uses(main={**mounts("plain"), "envFrom": [{"configMapRef": {"name": "other"}}]})
    other = ObjectId(
        kind=ObjectKind.CONFIG_MAP, namespace="default", name="other", origin=Origin.LOCAL
    )
    unmounted = ObjectId(
        kind=ObjectKind.CONFIG_MAP, namespace="default", name="unmounted", origin=Origin.LOCAL
    )
    assert (is_in_files(pod, CONFIG), is_in_variables(pod, CONFIG)) == (True, False)
    assert (is_in_files(pod, other), is_in_variables(pod, other)) == (False, True)
    assert not is_in_files(pod, unmounted)


@pytest.mark.parametrize(
    ("shown", "wanted", "expected"),
    [
        ("5", "5", True),
        ("10", "9", True),
        ("9", "10", False),
        ("", "1", False),
        ("abc", "abc", True),
        ("abd", "abc", False),
    ],
)
def test_a_later_version_will_do(shown: str, wanted: str, *, expected: bool) -> None:
    assert is_at_least(shown, wanted) is expected


def test_a_group_is_of_one_namespace() -> None:
    pod = make_pod(annotations={"actorlet/rollout-group": "web"})
    assert rollout_group(pod) == RolloutGroup("default", "web")
    assert rollout_group(make_pod()) is None


OLD, NEW = ObjectVersion("u", "7"), ObjectVersion("u", "8")


def observed(instance: str, state: ContainerState = ContainerState.RUNNING) -> PodObserved:
    """Return what is seen of a pod whose container ``web`` has this instance."""
    web = ContainerObserved(id=instance, name="web", attempt=0, state=state)
    history = ContainerHistory(name="web", current=web)
    return PodObserved(uid=PodUid("u"), mark=Mark(1, 1), containers={"web": history})


@pytest.mark.parametrize(
    ("shown", "read", "is_all"),
    [("8", NEW, True), ("9", NEW, True), ("7", NEW, False), ("8", OLD, False), (None, NEW, False)],
)
def test_a_change_is_seen_once_files_and_variables_have_it(
    shown: str | None,
    read: ObjectVersion,
    is_all: bool,  # noqa: FBT001
) -> None:
    pod = uses(web=mounts("plain"), db={"envFrom": [{"configMapRef": {"name": "config"}}]})
    told = None if shown is None else VolumesAre(uid=pod.uid, shown={CONFIG: shown})
    assert is_seen(pod, CONFIG, "8", told, {CONFIG: read}) is is_all


def test_a_change_that_is_in_files_alone_is_seen_there() -> None:
    pod = uses(web=mounts("plain"))
    assert is_seen(pod, CONFIG, "8", VolumesAre(uid=pod.uid, shown={CONFIG: "8"}), {})
    assert not is_seen(pod, CONFIG, "8", VolumesAre(uid=pod.uid), {CONFIG: NEW})


def test_a_container_is_back_once_another_instance_is_ready_by_its_own_probes() -> None:
    ready, unready = ProbeVerdict(), ProbeVerdict(is_ready=False)
    assert is_back(observed("new"), "web", "old", ready)
    assert is_back(observed("new"), "web", "old", ready._replace(container_id="new"))
    assert not is_back(observed("new"), "web", "old", ready._replace(container_id="old"))
    assert not is_back(observed("new"), "web", "old", unready)
    assert not is_back(observed("old"), "web", "old", ready)
    assert not is_back(observed("new"), "gone", "old", ready)
    stopped = observed("new", state=ContainerState.EXITED)
    assert not is_back(stopped, "web", "old", ready)
