"""MirrorKeeper between PodManager, the Node and the API server: every static pod is shown once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from messages.node import NodeUid
from messages.pods import (
    CONFIG_HASH,
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    CONTENT_DIGEST,
    FILE,
    HTTP,
)
from tests.support.mirrors.mirror_stage import (
    NODE,
    MirrorStage,
    make_static,
    mirror_made_by,
    mirror_stage,
)

WEB, SHOP = make_static("web"), make_static("shop")


@pytest.fixture
def stage() -> Iterator[MirrorStage]:
    with mirror_stage() as stage:
        yield stage


@pytest.fixture
def joined(stage: MirrorStage) -> MirrorStage:
    stage.joins()
    stage.serves(FILE, WEB)
    assert stage.asked() == ["POST web-n1"]
    return stage


# --- created ---------------------------------------------------------------------------------------


def test_a_static_pod_gets_one_mirror(joined: MirrorStage) -> None:
    # And no second one, however often its source lists it again.
    joined.serves(FILE, WEB)
    joined.advance(60.0)
    assert joined.asked() == []
    assert joined.mirrors() == [f"web-n1: {WEB.uid}"]
    described = joined.described()
    assert (described.wanted, described.present, described.troubles) == (1, 1, {})


def test_a_mirror_carries_the_hash_and_one_owner_which_is_the_node(stage: MirrorStage) -> None:
    stage.joins()
    stage.serves(FILE, WEB)
    mirror = stage.mirror()
    node = stage.store.get("nodes", NODE)
    assert mirror.document["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": NODE,
            "uid": node["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert mirror.annotations == {
        CONFIG_HASH: WEB.uid,
        CONFIG_MIRROR: WEB.uid,
        CONFIG_SOURCE: FILE,
        CONFIG_SEEN: "2023-11-14T22:13:20.000000000Z",
        CONTENT_DIGEST: "digest of 1",
    }
    assert mirror.uid != WEB.uid


def test_nothing_is_decided_before_the_api_server_s_pods_are_listed(stage: MirrorStage) -> None:
    stage.registers()
    stage.serves(FILE, WEB)
    assert stage.asked() == []
    stage.watches()
    assert stage.asked() == ["POST web-n1"]


def test_nothing_is_created_without_a_node(stage: MirrorStage) -> None:
    # Not known yet, known without a UID, being deleted, gone.
    stage.watches()
    stage.serves(FILE, WEB)
    stage.says_of_node(uid=NodeUid(""))
    stage.says_of_node(uid=NodeUid("going"), is_deleting=True)
    stage.registers()
    stage.deregisters()
    stage.serves(FILE, WEB, SHOP)
    assert stage.asked() == ["POST web-n1"]

    stage.registers()
    assert "POST shop-n1" in stage.asked()


def test_static_pods_of_all_sources_have_mirrors() -> None:
    with mirror_stage(FILE, HTTP) as stage:
        stage.joins()
        stage.serves(FILE, WEB)
        stage.serves(HTTP, make_static("shop", source=HTTP))
        assert stage.mirrors() == ["shop-n1: shop-1", "web-n1: web-1"]
        assert stage.mirror("shop").source == HTTP


def test_a_mirror_to_which_somebody_adds_an_owner_stays_the_node_s(joined: MirrorStage) -> None:
    (node,) = joined.mirror().document["metadata"]["ownerReferences"]
    added = {"apiVersion": "v1", "kind": "ConfigMap", "name": "backup", "uid": "c1"}
    joined.store.change(
        "pods", "default", f"web-{NODE}", metadata={"ownerReferences": [node, added]}
    )
    joined.crashes()
    joined.advance(60.0)
    assert joined.asked() == []
    assert joined.described().present == 1

    joined.serves(FILE, make_static("web", "2"))
    assert joined.asked() == ["DELETE web-n1", "POST web-n1"]


# --- deleted by somebody ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grace", "asked"),
    [(0, ["POST web-n1"]), (30, ["DELETE web-n1", "POST web-n1"])],
    ids=["by force", "gracefully"],
)
def test_a_deleted_mirror_is_made_again_at_once(
    joined: MirrorStage, grace: int, asked: list[str]
) -> None:
    # K14: a kubelet takes up to 90 s for the first of them.
    before = joined.mirror().uid
    joined.removes(grace=grace)
    assert joined.asked() == asked
    assert joined.mirror().uid != before
    assert not joined.mirror().is_deleting


@pytest.mark.parametrize("grace", [0, 30], ids=["by force", "gracefully"])
def test_a_mirror_that_is_deleted_before_its_creation_is_answered_is_made_again(
    stage: MirrorStage, grace: int
) -> None:
    stage.joins()
    stage.api.calls.hold_answers()
    stage.serves(FILE, WEB)
    before = stage.mirror().uid
    stage.removes(grace=grace)
    stage.api.calls.release()
    stage.settle()
    assert stage.mirror().uid != before
    assert not stage.mirror().is_deleting


def test_who_deletes_a_mirror_again_and_again_costs_little(joined: MirrorStage) -> None:
    for _ in range(5):
        joined.removes()
    assert joined.asked() == ["POST web-n1"] * 5

    # The seventh creation within ten seconds waits until they are over.
    joined.removes()
    joined.advance(9.0)
    assert joined.asked() == []
    joined.advance(1.0)
    assert joined.asked() == ["POST web-n1"]


def test_what_users_write_on_a_mirror_is_left_alone(joined: MirrorStage) -> None:
    # Rule M18.
    where = ("pods", "default", "web-n1")
    joined.store.change(*where, metadata={"labels": {"mine": "x"}, "annotations": {"my/note": "y"}})
    joined.store.change(*where, status={"phase": "Running"})
    joined.advance(60.0)
    assert joined.asked() == []
    assert joined.mirror().document["metadata"]["labels"] == {"mine": "x"}


# --- changed and removed ---------------------------------------------------------------------------


def test_another_content_is_another_mirror(joined: MirrorStage) -> None:
    joined.serves(FILE, make_static("web", "2"))
    assert joined.asked() == ["DELETE web-n1", "POST web-n1"]
    assert joined.mirrors() == ["web-n1: web-2"]


def test_another_content_under_a_fixed_uid_is_another_mirror(stage: MirrorStage) -> None:
    # K9: the hash is the same, since it is the UID.
    stage.joins()
    stage.serves(FILE, make_static("web", "1", uid="fixed"))
    before = stage.mirror()
    stage.serves(FILE, make_static("web", "2", uid="fixed"))
    after = stage.mirror()
    assert before.annotations[CONFIG_MIRROR] == after.annotations[CONFIG_MIRROR] == "fixed"
    assert after.annotations[CONTENT_DIGEST] == "digest of 2"
    assert before.uid != after.uid


def test_a_manifest_that_is_renamed_under_a_fixed_uid_takes_its_mirror_along(
    stage: MirrorStage,
) -> None:
    stage.joins()
    stage.serves(FILE, make_static("web", uid="fixed"))
    stage.serves(FILE, make_static("shop", uid="fixed"))
    assert stage.mirrors() == ["shop-n1: fixed"]


def test_the_mirror_goes_with_its_static_pod(joined: MirrorStage) -> None:
    joined.serves(FILE)
    assert joined.asked() == ["DELETE web-n1"]
    assert joined.mirrors() == []
    assert joined.described().wanted == 0


def test_a_pod_that_is_shadowed_has_no_mirror_of_its_own() -> None:
    with mirror_stage(FILE, HTTP) as stage:
        stage.joins()
        stage.serves(FILE, WEB)
        stage.serves(HTTP, make_static("web", "2", source=HTTP))
        assert stage.mirrors() == ["web-n1: web-1"]
        stage.asked()

        # And takes the name over, mirror included, when the older one goes.
        stage.serves(FILE)
        assert stage.asked() == ["DELETE web-n1", "POST web-n1"]
        assert stage.mirrors() == ["web-n1: web-2"]


# --- the Node --------------------------------------------------------------------------------------


def test_a_node_that_is_registered_again_owns_new_mirrors(joined: MirrorStage) -> None:
    joined.deregisters()
    assert joined.asked() == []
    uid = joined.registers()
    assert joined.asked() == ["DELETE web-n1", "POST web-n1"]
    (owner,) = joined.mirror().document["metadata"]["ownerReferences"]
    assert owner["uid"] == uid


def test_a_change_of_the_node_that_is_none_of_ours_costs_nothing(joined: MirrorStage) -> None:
    uid = NodeUid(joined.store.get("nodes", NODE)["metadata"]["uid"])
    joined.says_of_node(uid=uid)
    assert joined.asked() == []


def test_a_graceful_deletion_is_finished_without_a_node_too(joined: MirrorStage) -> None:
    joined.deregisters()
    joined.removes(grace=30)
    assert joined.asked() == ["DELETE web-n1"]
    assert joined.mirrors() == []


# --- restarts --------------------------------------------------------------------------------------


def test_a_crash_churns_no_mirror(joined: MirrorStage) -> None:
    before = joined.mirror().uid
    joined.crashes()
    joined.advance(60.0)
    assert joined.asked() == []
    assert joined.mirror().uid == before


def test_an_agent_that_starts_again_keeps_its_mirrors(stage: MirrorStage) -> None:
    uid = stage.registers()
    stage.store.add(mirror_made_by(uid, WEB))
    stage.watches()
    stage.serves(FILE, WEB)
    stage.advance(60.0)
    assert stage.asked() == []


def test_what_happened_during_a_crash_is_made_good(joined: MirrorStage) -> None:
    joined.api.calls.hold()
    joined.serves(FILE, WEB, SHOP)
    joined.crashes()
    joined.api.calls.release()
    joined.serves(FILE, SHOP)
    joined.advance(10.0)
    assert joined.mirrors() == ["shop-n1: shop-1"]


@pytest.mark.parametrize(
    "owners",
    [[], [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "former", "controller": True}]],
    ids=["without owner", "of a former Node"],
)
def test_a_mirror_without_the_right_owner_is_replaced(
    stage: MirrorStage, owners: list[dict[str, object]]
) -> None:
    stage.registers()
    stage.store.add(mirror_made_by("", WEB, ownerReferences=owners))
    stage.watches()
    stage.serves(FILE, WEB)
    assert stage.asked() == ["DELETE web-n1", "POST web-n1"]
