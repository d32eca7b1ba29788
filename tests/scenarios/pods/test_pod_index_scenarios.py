"""What the pod index answers."""

from __future__ import annotations

import pytest

from messages.pods import API, FullName, Pod, PodUid
from stores.pods.index import PodIndex
from tests.support.builders import make_mirror, make_pod

STATIC = make_pod("mirror-static-pod-name", uid="static-uid", config_hash="hash")
MIRROR = make_mirror(STATIC, uid="mirror-uid")
NORMAL = make_pod("normal-pod-name", uid="normal-uid", source=API)


@pytest.fixture
def index() -> PodIndex:
    index = PodIndex()
    index.set_all([MIRROR, STATIC, NORMAL])
    return index


def test_an_update_replaces_a_mirror_under_all_its_keys() -> None:
    index = PodIndex()
    index.add(MIRROR)
    changed = make_mirror(STATIC, uid="mirror-uid", annotations={"changed": "yes"})
    index.update(changed)
    assert index.pods_and_mirrors().mirrors == (changed,)
    assert index.mirror_of(STATIC) is changed


@pytest.mark.parametrize("source", ["file", "api"], ids=["static", "normal"])
def test_an_update_replaces_a_pod_under_all_its_keys(source: str) -> None:
    index = PodIndex()
    index.add(make_pod("web", source=source))
    changed = make_pod("web", source=source, annotations={"changed": "yes"})
    index.update(changed)
    assert index.pods() == (changed,)
    assert index.get_by_uid(changed.uid) is changed
    assert index.get_by_full_name(changed.full_name) is changed


def test_everything_set_is_found_by_every_key(index: PodIndex) -> None:
    """Ours: a pod without a mirror has ``None`` in place of an empty UID."""
    assert index.pods() == (STATIC, NORMAL)
    assert index.translate_uid(MIRROR.uid) == STATIC.uid
    assert index.get_by_full_name(FullName("mirror-static-pod-name_default")) is STATIC
    assert index.get_by_name("default", "mirror-static-pod-name") is STATIC
    assert index.uid_translations().static_to_mirror == {STATIC.uid: MIRROR.uid}
    assert index.uid_translations().mirror_to_static == {MIRROR.uid: STATIC.uid}
    assert index.mirror_of(NORMAL) is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(MIRROR, (STATIC, MIRROR, True), id="mirror"),
        pytest.param(STATIC, (STATIC, MIRROR, False), id="static"),
        pytest.param(NORMAL, (NORMAL, None, False), id="normal"),
    ],
)
def test_a_pod_is_returned_with_its_counterpart(
    index: PodIndex, asked: Pod, expected: tuple[Pod, Pod | None, bool]
) -> None:
    assert index.pod_and_mirror(asked) == expected


def test_removal_of_the_mirror_leaves_no_orphan(index: PodIndex) -> None:
    index.remove(MIRROR)
    assert index.pods_and_mirrors() == ((STATIC, NORMAL), (), ())
    assert index.translate_uid(MIRROR.uid) == MIRROR.uid


def test_removal_of_the_static_pod_leaves_an_orphaned_mirror(index: PodIndex) -> None:
    index.remove(STATIC)
    assert index.pods_and_mirrors() == ((NORMAL,), (MIRROR,), ("mirror-static-pod-name_default",))


def test_removal_of_a_normal_pod_touches_nothing_else(index: PodIndex) -> None:
    index.remove(NORMAL)
    assert index.pods_and_mirrors() == ((STATIC,), (MIRROR,), ())
    assert index.mirror_of(STATIC) is MIRROR


def test_only_static_pods_are_mapped_to_mirrors(index: PodIndex) -> None:
    assert index.static_to_mirror() == {STATIC.uid: MIRROR}


@pytest.mark.parametrize(
    "order", [(STATIC, MIRROR), (MIRROR, STATIC)], ids=["static first", "mirror first"]
)
def test_the_order_of_a_static_pod_and_its_mirror_does_not_matter(order: tuple[Pod, Pod]) -> None:
    index = PodIndex()
    index.add(order[0])
    index.add(order[1])
    assert index.translate_uid(MIRROR.uid) == STATIC.uid


def test_a_static_pod_without_a_mirror_is_among_the_translations() -> None:
    """Ours: ``None`` in place of an empty UID."""
    index = PodIndex()
    index.add(STATIC)
    assert index.uid_translations() == ({STATIC.uid: None}, {})


def test_a_mirror_is_translated_to_the_successor_of_its_pod(index: PodIndex) -> None:
    successor = make_pod("mirror-static-pod-name", uid="static-uid-2")
    index.remove(STATIC)
    index.add(successor)
    assert index.translate_uid(MIRROR.uid) == successor.uid


def test_removal_of_a_pod_reveals_the_next_of_its_name() -> None:
    """A kubelet finds nobody by name any more (quirk Q1)."""
    index = PodIndex()
    first, second = make_pod("a", uid="u1"), make_pod("a", uid="u2")
    index.add(first)
    index.add(second)

    # Both are known; the older one answers by name, and the other waits behind it.
    assert index.pods() == (first, second)
    assert index.get_by_name("default", "a") is first
    assert index.shadowed() == ((second, first),)

    # The older one goes; the other one takes over.
    assert index.remove(first) == ((second,), (first,))
    assert index.get_by_name("default", "a") is second
    assert index.shadowed() == ()


def test_an_orphaned_mirror_stands_for_itself(index: PodIndex) -> None:
    """A kubelet goes on translating to the dead pod (quirk Q2).

    Ours: translations are derived from who holds the name, so an orphan's UID is returned as it is.
    """
    index.remove(STATIC)
    assert index.translate_uid(MIRROR.uid) == PodUid("mirror-uid")
    assert index.uid_translations() == ({}, {})
