"""Who references what: pods come, change and go, and holders hear how many need their objects."""

from __future__ import annotations

import pytest

from kernel import Runtime
from messages.changes import Op, PodChange
from messages.objects import (
    ObjectKind,
    Origin,
    ReadVerdict,
    RegisterPod,
    UnregisterPod,
)
from messages.pod_manager import PodsAre, PodsChanged
from messages.pods import API, FILE, HTTP, Pod
from tests.support.builders import edited, make_mirror
from tests.support.objects.manager_players import needing, secret
from tests.support.objects.manager_stage import ManagerStage, manager_stage

DB, TLS, PULL = secret("db"), secret("tls"), secret("pull")
WEB, SHOP = needing("web", "db"), needing("shop", "db", "tls")
LOCAL_DB = secret("db", origin=Origin.LOCAL)


# --- who references what ------------------------------------------------------------------------------


def test_an_object_has_a_holder_as_long_as_pods_reference_it(runtime: Runtime) -> None:
    with manager_stage(runtime=runtime) as manager:
        manager.serves(API, WEB)
        assert manager.holders() == ["objects/secrets/default/db"]
        assert manager.heard(DB) == ["1 at 1"]

        # Another pod is told of as another reference; the holder is the same.
        manager.serves(API, WEB, SHOP)
        assert manager.heard(DB) == ["2 at 2"]
        assert manager.heard(TLS) == ["1 at 3"]

        manager.serves(API, SHOP)
        assert manager.heard(DB) == ["1 at 2"]

        # The last one goes: the holder lets go of everything, and is stopped.
        manager.serves(API)
        assert manager.heard(DB) == ["none"]
        assert manager.holders() == []
        assert manager.made == ["db", "tls"]


def test_config_maps_are_another_manager_s_business() -> None:
    pod = needing("web", "db", config_maps=["settings"])
    with manager_stage(ObjectKind.CONFIG_MAP) as manager:
        manager.serves(API, pod)
        assert manager.holders() == ["objects/configmaps/default/settings"]
    with manager_stage(ObjectKind.SECRET) as manager:
        manager.serves(API, pod)
        assert manager.holders() == ["objects/secrets/default/db"]


def test_a_pod_that_names_an_object_five_times_counts_once(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db", "db", "db", pull=["db", "db"]))
    assert manager.heard(DB) == ["1 at 1"]


def test_a_pod_that_only_changes_its_status_tells_holders_nothing(manager: ManagerStage) -> None:
    manager.serves(API, WEB)
    manager.heard(DB)
    manager.serves(API, edited(WEB, status={"phase": "Running"}))
    assert manager.heard(DB) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ran_to_its_end_releases_what_it_references(
    manager: ManagerStage, phase: str
) -> None:
    manager.serves(API, WEB)
    manager.serves(API, edited(WEB, status={"phase": phase}))
    assert manager.holders() == []


def test_a_pod_that_is_being_deleted_keeps_what_it_references_until_it_is_gone(
    manager: ManagerStage,
) -> None:
    manager.serves(API, WEB)
    manager.serves(API, needing("web", "db", deleting=True))
    assert manager.counts() == {"db": 1}
    manager.serves(API)
    assert manager.holders() == []


def test_a_mirror_pod_references_nothing(manager: ManagerStage) -> None:
    static = needing("web", "db", source=FILE)
    manager.serves(API, make_mirror(static, spec=static.document["spec"]))
    manager.tell(RegisterPod(pod=make_mirror(static, spec=static.document["spec"])))
    assert manager.holders() == []
    assert manager.described().pods == 0


def test_pods_of_one_name_and_different_uids_are_two(manager: ManagerStage) -> None:
    # Quirk K19: the old one's end took the references of the new one with it.
    old, new = needing("web", "db", uid="old"), needing("web", "db", uid="new")
    manager.tell(RegisterPod(pod=old), RegisterPod(pod=new), UnregisterPod(pod=old.uid))
    assert manager.counts() == {"db": 1}
    assert manager.reads(new, "db").verdict is ReadVerdict.FOUND


def test_an_object_that_one_pod_drops_and_another_takes_up_in_one_batch_keeps_its_holder(
    manager: ManagerStage,
) -> None:
    old, new = needing("web", "db", uid="old"), needing("web", "db", uid="new")
    manager.serves(API, old)
    manager.heard(DB)
    manager.serves(API, new)
    # The new reference has a mark of its own: its first read is no older than itself.
    assert manager.heard(DB) == ["1 at 2"]
    assert manager.made == ["db"]


def test_a_pod_that_references_something_else_is_never_without_what_it_keeps(
    manager: ManagerStage,
) -> None:
    manager.serves(API, needing("web", "db", "tls"))
    manager.heard(DB)
    manager.serves(API, needing("web", "db", "pull"))
    assert manager.counts() == {"db": 1, "pull": 1}
    # What it keeps has no new mark: nobody needs to look at it again.
    assert manager.heard(DB) == []
    assert manager.heard(PULL) == ["1 at 3"]


def test_a_listing_replaces_what_is_known_of_its_own_source_only(manager: ManagerStage) -> None:
    manager.tell(
        PodsAre(source=API, pods=(WEB,)),
        PodsAre(source=HTTP, pods=(needing("shop", "db", source=HTTP),)),
        PodsAre(source=API, pods=()),
        PodsAre(source=FILE, pods=()),
    )
    assert manager.counts() == {}
    assert [one.object.origin for one in manager.described().objects] == [Origin.LOCAL]


def test_a_pod_that_another_source_lists_is_that_source_s(manager: ManagerStage) -> None:
    manager.tell(
        PodsAre(source=HTTP, pods=(WEB,)),
        PodsAre(source=API, pods=(WEB,)),
        PodsAre(source=HTTP, pods=()),
    )
    assert manager.heard(DB) == ["1 at 1"]


def test_a_pod_that_becomes_static_reads_local_files_from_there_on(manager: ManagerStage) -> None:
    manager.tell(PodsAre(source=API, pods=(WEB,)))
    moved = PodChange(op=Op.UPDATE, pod=needing("web", "db", source=FILE))
    manager.tell(PodsChanged(source=FILE, changes=(moved,)))
    assert manager.holders() == []
    manager.reads(needing("web", "db", source=FILE), "db")
    assert manager.files.looked == [LOCAL_DB]


# --- registering by hand ------------------------------------------------------------------------------


def test_a_pod_that_is_held_both_ways_is_released_when_both_let_go(manager: ManagerStage) -> None:
    manager.tell(RegisterPod(pod=WEB))
    manager.serves(API, WEB)
    manager.serves(API)
    assert manager.counts() == {"db": 1}
    manager.tell(UnregisterPod(pod=WEB.uid))
    assert manager.holders() == []

    manager.serves(API, WEB)
    manager.tell(RegisterPod(pod=WEB), UnregisterPod(pod=WEB.uid))
    assert manager.counts() == {"db": 1}


def test_a_pod_needs_what_either_of_its_two_holds_says(manager: ManagerStage) -> None:
    manager.serves(API, needing("web", "db", "tls"))
    manager.tell(RegisterPod(pod=needing("web", "db", "pull")))
    assert manager.counts() == {"db": 1, "tls": 1, "pull": 1}


def test_a_terminal_pod_lets_go_by_registering_again(manager: ManagerStage) -> None:
    manager.tell(RegisterPod(pod=WEB), RegisterPod(pod=needing("web", "db", phase="Failed")))
    assert manager.holders() == []


def test_registering_and_unregistering_again_changes_nothing(manager: ManagerStage) -> None:
    p1, p2 = needing("p1", "s1"), needing("p2", "s1")
    s1 = secret("s1")
    manager.tell(RegisterPod(pod=p1), RegisterPod(pod=p1))
    assert manager.heard(s1) == ["1 at 1"]
    manager.tell(RegisterPod(pod=p2))
    assert manager.heard(s1) == ["2 at 2"]
    manager.tell(UnregisterPod(pod=p1.uid), UnregisterPod(pod=p1.uid))
    assert manager.heard(s1) == ["1 at 2"]
    manager.tell(UnregisterPod(pod=p2.uid))
    assert manager.heard(s1) == ["none"]
    assert manager.holders() == []


def test_references_are_counted_by_pods(manager: ManagerStage) -> None:
    first, second = ("s1", "s10", "s2", "s3"), ("s2", "s4", "s5", "s50")
    p5 = ("s1", "s3", "s30", "s5")
    manager.tell(
        *(RegisterPod(pod=needing(name, *first)) for name in ("p1", "p2")),
        *(RegisterPod(pod=needing(name, *second)) for name in ("p2", "p3", "p4")),
        UnregisterPod(pod=needing("p3").uid),
        *(RegisterPod(pod=needing(name, *p5)) for name in ("p5", "p6")),
        RegisterPod(pod=needing("p7", "s3", "s6", "s60")),
        UnregisterPod(pod=needing("p7").uid),
        RegisterPod(pod=needing("other", *first)),
        RegisterPod(pod=needing("other", *second)),
        UnregisterPod(pod=needing("other").uid),
        *(RegisterPod(pod=needing("noop", "s7", "s70")) for _ in range(2)),
    )
    counts = {one.object.name: one.references for one in manager.described().objects}
    assert counts == manager.counts()
    assert counts == {
        "s1": 3,
        "s10": 1,
        "s2": 3,
        "s3": 3,
        "s30": 2,
        "s4": 2,
        "s5": 4,
        "s50": 2,
        "s7": 1,
        "s70": 1,
    }
    assert manager.described().pods == 6


# Only what is newly referenced has to be looked at again.
def test_a_new_reference_has_a_new_mark_and_others_keep_theirs(manager: ManagerStage) -> None:
    manager.tell(RegisterPod(pod=needing("p1", "s1", "s10", "s2")))
    manager.tell(RegisterPod(pod=needing("p1", "s1", "s2", "s20", "s3")))
    marks = {name: manager.heard(secret(name)) for name in ("s1", "s2", "s20", "s3", "s10")}
    assert marks == {
        "s1": ["1 at 1"],
        "s2": ["1 at 3"],
        "s20": ["1 at 4"],
        "s3": ["1 at 5"],
        "s10": ["1 at 2", "none"],
    }


def test_the_same_names_in_different_namespaces_are_different_objects(
    manager: ManagerStage,
) -> None:
    manager.tell(
        RegisterPod(pod=needing("p1", "s1", namespace="ns1")),
        RegisterPod(pod=needing("p1", "s3", "s4", namespace="ns1")),
        RegisterPod(pod=needing("p2", "s3", namespace="ns2")),
        RegisterPod(pod=needing("p3", "s3", namespace="ns3")),
        UnregisterPod(pod=needing("p3", namespace="ns3").uid),
    )
    assert manager.holders() == [
        "objects/secrets/ns1/s3",
        "objects/secrets/ns1/s4",
        "objects/secrets/ns2/s3",
    ]


def test_a_pod_that_comes_and_goes_twenty_times_costs_one_holder(manager: ManagerStage) -> None:
    other = needing("other", "db")
    coming_and_going: list[RegisterPod | UnregisterPod] = [
        RegisterPod(pod=other),
        UnregisterPod(pod=other.uid),
    ] * 20
    manager.tell(RegisterPod(pod=WEB), *coming_and_going)
    assert manager.made == ["db"]
    assert manager.records[DB].lives == 1
    manager.tell(UnregisterPod(pod=WEB.uid))
    assert manager.holders() == []
    assert manager.reads(WEB, "db").verdict is ReadVerdict.NOT_REGISTERED


def test_many_pods_that_share_an_object_release_it_together() -> None:
    pods: tuple[Pod, ...] = tuple(needing(f"p{n}", "db", f"s{n}") for n in range(100))
    with manager_stage(seed=3) as manager:
        manager.serves(API, *pods)
        assert len(manager.holders()) == 101
        manager.serves(API, *pods[50:])
        assert manager.counts()["db"] == 50
        manager.serves(API)
        assert manager.holders() == []
