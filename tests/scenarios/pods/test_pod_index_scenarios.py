"""What the pod index answers."""

from __future__ import annotations

import pytest

from messages.pods import API, FullName, Pod
from stores.pods.index import PodIndex
from tests.support.builders import make_mirror, make_pod

STATIC = make_pod("mirror-static-pod-name", uid="static-uid", config_hash="hash")
MIRROR = make_mirror(STATIC, uid="mirror-uid")
NORMAL = make_pod("normal-pod-name", uid="normal-uid", source=API)


@pytest.fixture
def index() -> PodIndex:
    index = PodIndex()
    for pod in (MIRROR, STATIC, NORMAL):
        index.add(pod)
    return index


def test_an_update_replaces_a_mirror_under_all_its_keys() -> None:
    index = PodIndex()
    index.add(MIRROR)
    changed = make_mirror(STATIC, uid="mirror-uid", annotations={"changed": "yes"})
    index.add(changed)
    assert index.mirrors() == (changed,)
    assert index.mirror_of(STATIC) is changed


@pytest.mark.parametrize("source", ["file", "api"], ids=["static", "normal"])
def test_an_update_replaces_a_pod_under_all_its_keys(source: str) -> None:
    index = PodIndex()
    index.add(make_pod("web", source=source))
    changed = make_pod("web", source=source, annotations={"changed": "yes"})
    index.add(changed)
    assert index.pods() == (changed,)
    assert index.holder(changed.uid) is changed
    assert index.get_by_full_name(changed.full_name) is changed


def test_everything_is_found_by_every_key(index: PodIndex) -> None:
    """Ours: a pod without a mirror has ``None`` in place of an empty UID."""
    assert index.pods() == (STATIC, NORMAL)
    assert index.get_by_full_name(FullName("mirror-static-pod-name_default")) is STATIC
    assert index.static_to_mirror() == {STATIC.uid: MIRROR.uid}
    assert index.mirror_of(NORMAL) is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(MIRROR, (STATIC, MIRROR), id="mirror"),
        pytest.param(STATIC, (STATIC, MIRROR), id="static"),
        pytest.param(NORMAL, (NORMAL, None), id="normal"),
    ],
)
def test_a_pod_is_returned_with_its_counterpart(
    index: PodIndex, asked: Pod, expected: tuple[Pod, Pod | None]
) -> None:
    assert index.pod_and_mirror(asked) == expected


def test_removal_of_the_mirror_leaves_no_orphan(index: PodIndex) -> None:
    index.remove(MIRROR)
    assert (index.pods(), index.mirrors()) == ((STATIC, NORMAL), ())
    assert index.static_to_mirror() == {STATIC.uid: None}


def test_removal_of_the_static_pod_leaves_an_orphaned_mirror(index: PodIndex) -> None:
    index.remove(STATIC)
    assert (index.pods(), index.mirrors()) == ((NORMAL,), (MIRROR,))


def test_removal_of_a_normal_pod_touches_nothing_else(index: PodIndex) -> None:
    index.remove(NORMAL)
    assert (index.pods(), index.mirrors()) == ((STATIC,), (MIRROR,))
    assert index.mirror_of(STATIC) is MIRROR


def test_removal_of_a_pod_reveals_the_next_of_its_name() -> None:
    """A kubelet finds nobody by name any more (quirk Q1)."""
    index = PodIndex()
    first, second = make_pod("a", uid="u1"), make_pod("a", uid="u2")
    index.add(first)
    index.add(second)

    # Both are known; the older one answers by name, and the other waits behind it.
    assert index.pods() == (first, second)
    assert index.get_by_full_name(FullName("a_default")) is first
    assert index.shadowed() == ((second, first),)

    # The older one goes; the other one takes over.
    assert index.remove(first) == ((second,), (first,))
    assert index.get_by_full_name(FullName("a_default")) is second
    assert index.shadowed() == ()
