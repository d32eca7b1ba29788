"""What a dry run tells of each pod."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from actors.pods.records import KeptPod
from actors.volumes.making.foreign import DriverRecord, ForeignVolume, StageMount
from agent.takeover_rows import (
    NO_VOLUMES,
    Fate,
    FoundPods,
    FoundVolumes,
    TakeoverRow,
    as_json,
    as_text,
    takeover_rows,
)
from manifests.container_hashes import container_hash
from messages.pod_runtime import ContainerObserved, ContainerState, RuntimePod
from messages.pods import API, CONTAINER_DIGESTS, FILE, HTTP, Pod, PodUid, SourceName
from tests.support.builders import make_pod
from tests.unit.manifests.test_adopting import container, running

IMAGE = "registry.example/web:1"


def served(uid: str, image: str = IMAGE) -> Pod:
    return make_pod("web-node1", uid=uid, image=image)


def rows(
    *found: RuntimePod,
    pods: tuple[Pod, ...] = (),
    sources: tuple[SourceName, ...] = (FILE,),
    adopts: bool = False,
    instances: tuple[ContainerObserved, ...] = (),
    kept: KeptPod | None = None,
    volumes: FoundVolumes = NO_VOLUMES,
) -> tuple[TakeoverRow, ...]:
    there = FoundPods(
        running={each.uid: each for each in found},
        instances={each.uid: instances for each in found},
        kept={kept.uid: kept} if kept is not None else {},
    )
    return takeover_rows(pods, there, frozenset(sources), adopts=adopts, volumes=volumes)


def told(*args: RuntimePod, **fields: object) -> list[tuple[Fate, str]]:
    return [(row.fate, row.why) for row in rows(*args, **fields)]  # type: ignore[arg-type]


def test_a_pod_of_a_manifest_is_adopted_restarted_replaced_or_started() -> None:
    assert told(running("u"), pods=(served("u"),)) == [(Fate.ADOPT, "it runs under this UID")]
    other = served("u", "registry.example/web:2")
    assert told(running("u"), pods=(other,), instances=(container(),)) == [
        (Fate.RESTART, "container main has another image in the manifest")
    ]
    assert told(pods=(served("u"),)) == [(Fate.START, "nothing of it runs")]
    old = running("k", is_running=False)
    assert told(old, pods=(served("k"),)) == [(Fate.START, "nothing of it runs")]
    (replaced,) = rows(running("k"), pods=(served("u"),))
    assert (replaced.fate, replaced.uid, replaced.next_uid) == (Fate.REPLACE, "k", "u")


def test_a_pod_whose_uid_its_user_has_fixed_says_which_container_was_edited() -> None:
    fixed = make_pod("web-node1", uid="u", annotations={CONTAINER_DIGESTS: "main=two"})
    image = fixed.document["spec"]["containers"][0]["image"]
    ran = replace(container(), is_foreign=False, spec_hash=container_hash("main", image, "one"))
    assert told(running("u"), pods=(fixed,), instances=(ran,)) == [
        (Fate.RESTART, "container main is another one in the manifest")
    ]
    same = replace(ran, spec_hash=container_hash("main", image, "two"))
    assert told(running("u"), pods=(fixed,), instances=(same,))[0][0] is Fate.ADOPT


@pytest.mark.parametrize(
    ("digests", "fate"),
    [({}, Fate.ADOPT), ({"main": "two"}, Fate.ADOPT), ({"main": "one"}, Fate.RESTART)],
    ids=["never seen before", "seen as it is", "edited since it was first seen"],
)
def test_a_container_that_tells_no_digest_was_edited_if_the_record_says_so(
    digests: dict[str, str], fate: Fate
) -> None:
    fixed = make_pod("web-node1", uid="u", annotations={CONTAINER_DIGESTS: "main=two"})
    image = fixed.document["spec"]["containers"][0]["image"]
    ran = replace(container(), spec_hash=container_hash("main", image))
    kept = KeptPod(uid=PodUid("u"), digests=digests)
    assert told(running("u"), pods=(fixed,), instances=(ran,), kept=kept)[0][0] is fate


def test_a_container_on_record_as_outdated_is_started_anew_while_it_runs() -> None:
    ran = replace(container(), state=ContainerState.RUNNING)
    kept = KeptPod(uid=PodUid("u"), outdated=frozenset({ran.id}))
    fields: dict[str, Any] = {"pods": (served("u"),), "kept": kept}
    why = "container main uses an object that changed"
    assert told(running("u"), instances=(ran,), **fields) == [(Fate.RESTART, why)]
    has_ended = replace(ran, state=ContainerState.EXITED)
    assert told(running("u"), instances=(has_ended,), **fields)[0][0] is Fate.ADOPT
    newer = replace(ran, id="another")
    assert told(running("u"), instances=(newer,), **fields)[0][0] is Fate.ADOPT


def test_a_pod_on_record_as_ended_is_not_started_again_and_what_runs_of_it_is_stopped() -> None:
    kept = KeptPod(uid=PodUid("u"), ended={"phase": "Failed"})
    why = "it has ended by itself: Failed"
    assert told(pods=(served("u"),), kept=kept) == [(Fate.ENDED, why)]
    has_ended = running("u", is_running=False)
    assert told(has_ended, pods=(served("u"),), kept=kept) == [(Fate.ENDED, why)]
    (stopped,) = rows(running("u"), pods=(served("u"),), kept=kept)
    assert (stopped.fate, stopped.why, stopped.uid) == (Fate.STOP, why, "u")
    assert told(pods=(served("u"),), kept=KeptPod(uid=PodUid("u")))[0][0] is Fate.START


def test_why_a_pod_is_replaced() -> None:
    def why(found: RuntimePod, *, adopts: bool = True) -> str:
        return told(found, pods=(served("u"),), adopts=adopts)[0][1]

    assert why(running("k", is_foreign=False)) == "the manifest was changed since it was started"
    assert why(running("k", source=HTTP)) == (
        "it runs for the source http, and the manifest is of the source file"
    )
    assert why(running("k", container("other"))) == ("container other of it is not in the manifest")
    assert why(running("k")) == "the manifest was changed since it was adopted"
    assert why(running("k"), adopts=False) == (
        "it runs under a kubelet's UID, which --adopt-static-pods would keep"
    )


def test_pods_without_a_manifest_are_stopped_or_removed_or_of_somebody_else() -> None:
    gone = running("k")
    assert told(gone) == [(Fate.STOP, "there is no manifest of it that can be used")]
    assert told(replace(gone, is_running=False))[0][0] is Fate.REMOVE
    bound = running("k", source=API, is_foreign=False)
    assert told(bound) == [
        (Fate.STOP, "it is of an API server, and the agent would belong to no cluster")
    ]
    assert told(bound, sources=(FILE, API))[0][0] is Fate.ADOPT
    assert told(running("k", source=HTTP), sources=(HTTP,))[0][0] is Fate.UNKNOWN
    assert told(running("k", source=""))[0][1] == (
        "it says no source, and nobody here would list it"
    )
    assert told(running("k", source="elsewhere"))[0][1] == (
        "it is of the source elsewhere, which the agent would not have"
    )


def test_the_table_and_the_document_say_the_same() -> None:
    found = rows(running("k"), running("g", name="gone"), pods=(served("k"),))
    lines = list(as_text(found))
    assert lines == [
        "POD                FATE   WHY",
        "default/gone       stop   there is no manifest of it that can be used",
        "default/web-node1  adopt  it runs under this UID",
        "2 pods: 1 adopt, 1 stop",
    ]
    document = as_json(found, "containerd 2")
    assert (document["undisturbed"], document["runtime"]) == (False, "containerd 2")
    assert as_json((), "")["undisturbed"] is True
    assert list(as_text(())) == ["0 pods"]
    assert list(as_text(found[1:]))[-1] == "1 pod: 1 adopt"
    assert found[1].next_uid == PodUid("k")


def foreign(name: str, handle: str) -> ForeignVolume:
    return ForeignVolume(
        name=name,
        plugin="kubernetes.io/csi",
        path=f"/root/{name}",
        record=DriverRecord("disk.example.org", handle),
        is_mounted=True,
    )


def staged(handle: str) -> StageMount:
    record = DriverRecord("disk.example.org", handle)
    return StageMount(path=f"/root/stage/{handle}", record=record, is_mounted=True)


def test_pods_that_would_be_held_are_told_and_so_is_what_drivers_have_staged() -> None:
    volumes = FoundVolumes(
        held={PodUid("k"): (foreign("pv1", "h1"),), PodUid("z"): (foreign("pv2", "h2"),)},
        stages=(
            staged("h1"),
            staged("h3"),
            StageMount(path="/s", record=DriverRecord(), is_mounted=True),
        ),
    )
    found = rows(running("k"), pods=(served("k"),), volumes=volumes)
    assert list(as_text(found, volumes)) == [
        "POD                FATE    WHY",
        "z                  remove  only its directory is left",
        "default/web-node1  adopt   it runs under this UID",
        "2 pods: 1 adopt, 1 remove",
        "These pods would stay at their end, with all that they have on the disk:",
        f"  z: volume pv2: {foreign('pv2', 'h2').said}",
        f"  default/web-node1: volume pv1: {foreign('pv1', 'h1').said}",
        "These stage mounts of drivers would never be touched:",
        "  /root/stage/h1 of driver disk.example.org (handle h1)",
        "  /root/stage/h3 of driver disk.example.org (handle h3), which no volume of a pod is of",
        "  /s, which no volume of a pod is of",
    ]
    document = as_json(found, "containerd 2", volumes)
    assert document["undisturbed"] is True
    assert document["stageMounts"] == [
        {
            "driver": "disk.example.org" if handle else "",
            "handle": handle,
            "path": path,
            "mounted": True,
            "orphaned": handle != "h1",
        }
        for handle, path in (("h1", "/root/stage/h1"), ("h3", "/root/stage/h3"), ("", "/s"))
    ]
    pods = document["pods"]
    assert isinstance(pods, list)
    assert pods[1]["held"] == [
        {
            "volume": "pv1",
            "plugin": "kubernetes.io/csi",
            "driver": "disk.example.org",
            "handle": "h1",
            "path": "/root/pv1",
            "mounted": True,
        }
    ]
