"""The pod index, query by query and quirk by quirk."""

from __future__ import annotations

import pytest

from manifests.qos import is_critical
from messages.pods import API, FILE, HTTP, FullName, Pod, PodUid
from stores.pods.index import PodCounts, PodIndex, is_mirror_pod_of
from tests.support.builders import edited, make_mirror, make_pod

WEB_NAME = FullName("web_default")


@pytest.fixture
def index() -> PodIndex:
    return PodIndex()


def put(index: PodIndex, *pods: Pod) -> None:
    for pod in pods:
        index.add(pod)


@pytest.mark.rule("P14")
def test_a_mirror_is_not_found_by_its_name(index: PodIndex) -> None:
    index.add(make_mirror(make_pod()))
    assert index.get_by_full_name(WEB_NAME) is None


@pytest.mark.rule("P16")
def test_a_mirror_is_found_for_a_pod_that_is_unknown(index: PodIndex) -> None:
    mirror = make_mirror(make_pod())
    index.add(mirror)
    assert index.mirror_of(make_pod(uid="unknown")) is mirror
    assert index.mirror_of(mirror) is mirror


@pytest.mark.rule("P15")
def test_a_pod_is_found_for_a_mirror_that_is_unknown(index: PodIndex) -> None:
    pod = make_pod()
    index.add(pod)
    assert index.pod_of_mirror(make_mirror(pod, uid="unknown")) is pod


@pytest.mark.rule("P17")
def test_a_pair_holds_the_very_object_that_was_asked_about(index: PodIndex) -> None:
    index.add(make_pod())
    asked = make_pod(phase="Running")
    assert index.pod_and_mirror(asked).pod is asked


def test_removal_of_an_unknown_pod_changes_nothing(index: PodIndex) -> None:
    """Rule P7, without the kubelet's loss of the name."""
    pod = make_pod()
    index.add(pod)
    assert index.remove(make_pod(uid="unknown")) == ((), ())
    assert index.get_by_full_name(WEB_NAME) is pod


def test_an_update_keeps_the_order_of_the_list(index: PodIndex) -> None:
    put(index, make_pod("a"), make_pod("b"))
    index.add(make_pod("a", phase="Running"))
    assert [pod.name for pod in index.pods()] == ["a", "b"]


def test_an_added_pod_is_revealed_and_an_updated_one_is_not(index: PodIndex) -> None:
    pod, changed = make_pod(), make_pod(phase="Running")
    assert index.add(pod) == ((pod,), ())
    assert index.add(changed) == ((), ())
    assert index.remove(pod) == ((), (changed,))


def test_mirrors_are_neither_revealed_nor_hidden(index: PodIndex) -> None:
    mirror = make_mirror(make_pod())
    assert index.add(mirror) == ((), ())
    assert index.remove(mirror) == ((), ())


def test_removal_of_an_older_uid_leaves_the_name_to_its_holder(index: PodIndex) -> None:
    """Quirk Q1."""
    holder, waiting = make_pod(uid="u1"), make_pod(uid="u2")
    put(index, holder, waiting)
    assert index.remove(waiting) == ((), ())
    assert index.get_by_full_name(WEB_NAME) is holder
    assert index.shadowed() == ()


def test_an_api_pod_does_not_push_a_static_pod_off_its_name(index: PodIndex) -> None:
    """Quirk Q6."""
    static, other = make_pod(uid="static"), make_pod(uid="api", source=API)
    index.add(static)
    assert index.add(other) == ((), ())
    assert index.get_by_full_name(WEB_NAME) is static
    assert index.shadow_of(other) is static
    assert index.shadow_of(static) is None


def test_a_deleting_holder_keeps_its_name_until_it_is_removed(index: PodIndex) -> None:
    index.add(make_pod(uid="u1"))
    index.add(make_pod(uid="u2"))
    index.add(make_pod(uid="u1", deleting=True, phase="Failed"))
    holder = index.get_by_full_name(WEB_NAME)
    assert holder is not None
    assert holder.uid == "u1"


def test_a_shadowed_pod_has_no_mirror(index: PodIndex) -> None:
    """The mirror on the API server shows the holder of the name."""
    holder, waiting = make_pod(uid="u1"), make_pod(uid="u2", source=HTTP)
    mirror = make_mirror(holder)
    put(index, holder, waiting, mirror)
    assert index.mirror_of(waiting) is None
    assert index.static_to_mirror() == {"u1": mirror.uid, "u2": None}


def test_a_mirror_that_becomes_a_pod_is_one_wholly(index: PodIndex) -> None:
    """Quirk Q5."""
    index.add(make_pod(uid="u", source=API, mirror=""))
    pod = make_pod(uid="u", source=API)
    assert index.add(pod) == ((pod,), ())
    assert (index.pods(), index.mirrors()) == ((pod,), ())
    assert index.mirror_of(pod) is None


def test_a_pod_that_becomes_a_mirror_is_one_wholly(index: PodIndex) -> None:
    """Quirk Q5."""
    index.add(make_pod(uid="u", source=API))
    mirror = make_pod(uid="u", source=API, mirror="")
    index.add(mirror)
    assert (index.pods(), index.mirrors()) == ((), (mirror,))


def test_a_mirror_stripped_of_its_annotation_does_not_take_the_name(index: PodIndex) -> None:
    """The mirror was listed before the static pod, yet as a pod it is the younger one."""
    static = make_pod(uid="static")
    index.add(make_mirror(static, uid="u"))
    index.add(static)
    index.add(make_pod(uid="u", source=API))
    assert index.get_by_full_name(WEB_NAME) is static


def test_a_renamed_pod_leaves_nothing_under_its_old_name(index: PodIndex) -> None:
    index.add(make_pod("web", uid="u"))
    renamed = make_pod("shop", uid="u")
    assert index.add(renamed) == ((), ())
    assert index.get_by_full_name(WEB_NAME) is None
    assert index.get_by_full_name(FullName("shop_default")) is renamed
    assert index.pods() == (renamed,)


def test_a_renamed_pod_waits_behind_whoever_has_the_name(index: PodIndex) -> None:
    """However old the renamed pod is: an edit must not end a running pod."""
    renamed_before, heir = make_pod("web", uid="u1"), make_pod("web", uid="u2")
    holder = make_pod("shop", uid="u3")
    put(index, renamed_before, heir, holder)
    turnover = index.add(make_pod("shop", uid="u1"))
    assert turnover == ((heir,), (renamed_before,))
    assert index.get_by_full_name(FullName("shop_default")) is holder


def test_one_uid_of_two_sources_is_one_pod(index: PodIndex) -> None:
    """The same manifest in the manifest directory and at the manifest URL."""
    file, http = make_pod(uid="u", source=FILE), make_pod(uid="u", source=HTTP)
    index.add(file)
    assert index.add(http) == ((), ())
    assert index.pods() == (file,)
    assert index.shadowed() == ((http, file),)
    assert index.shadow_of(http) is file

    # The file goes: the pod stays, by the word of the other source.
    assert index.remove(file) == ((), ())
    assert index.holder(PodUid("u")) is http
    assert index.shadow_of(http) is None


def test_a_pod_that_moves_between_sources_keeps_its_name(index: PodIndex) -> None:
    file, http = make_pod(uid="u", source=FILE), make_pod(uid="u", source=HTTP)
    rival = make_pod(uid="rival", source=API)
    put(index, file, rival, http)
    index.remove(file)
    assert index.get_by_full_name(WEB_NAME) is http
    assert index.shadow_of(rival) is http


def test_removal_of_a_waiting_sources_word_changes_nothing(index: PodIndex) -> None:
    file, http = make_pod(uid="u", source=FILE), make_pod(uid="u", source=HTTP)
    put(index, file, http)
    assert index.remove(http) == ((), ())
    assert index.holder(PodUid("u")) is file
    assert index.shadowed() == ()


@pytest.mark.parametrize("source", [FILE, HTTP], ids=["unknown source", "unknown UID"])
def test_an_unknown_pod_waits_behind_nobody(index: PodIndex, source: str) -> None:
    index.add(make_pod(uid="u" if source == FILE else "other", source=API))
    assert index.shadow_of(make_pod(uid="u", source=source)) is None


def test_a_mirror_waits_behind_nobody(index: PodIndex) -> None:
    mirror = make_mirror(make_pod())
    put(index, make_pod(), mirror)
    assert index.shadow_of(mirror) is None


STATIC = make_pod(config_hash="hash")
EXACT = make_mirror(STATIC, uid="exact")
STALE = make_mirror(STATIC, uid="stale", mirror="old")
STALER = make_mirror(STATIC, uid="staler", mirror="older")
EXACT_DELETING = make_mirror(STATIC, uid="exact-deleting", deleting=True)
STALE_DELETING = make_mirror(STATIC, uid="stale-deleting", mirror="old", deleting=True)


@pytest.mark.parametrize(
    ("mirrors", "chosen"),
    [
        pytest.param([STALE, EXACT], EXACT, id="the one that shows the pod as it is"),
        pytest.param([EXACT_DELETING, STALE], STALE, id="rather stale than going"),
        pytest.param([STALE, STALER], STALE, id="the older of two stale ones"),
        pytest.param([STALE_DELETING, EXACT_DELETING], EXACT_DELETING, id="exact, all going"),
    ],
)
def test_the_choice_among_mirrors_is_the_same_every_time(
    index: PodIndex, mirrors: list[Pod], chosen: Pod
) -> None:
    """Quirk Q4."""
    put(index, STATIC, *mirrors)
    assert index.mirror_of(STATIC) is chosen
    assert index.static_to_mirror() == {STATIC.uid: chosen.uid}


def test_orphaned_mirrors_are_chosen_by_age(index: PodIndex) -> None:
    put(index, STALE, EXACT)
    assert index.mirror_of(STATIC) is STALE


def test_counts_follow_the_stored_pods(index: PodIndex) -> None:
    """Quirk Q7: what is passed to a removal does not matter, nor what a mirror contains."""
    static = make_pod("a", ephemeral_containers=2)
    index.add(static)
    index.add(make_pod("b", source=API, ephemeral_containers=1))
    index.add(make_mirror(static, ephemeral_containers=4))
    assert index.counts() == PodCounts(static_pods=1, regular_pods=1, ephemeral_containers=3)

    index.add(make_pod("b", source=API, ephemeral_containers=3))
    index.remove(make_pod("a", ephemeral_containers=9))
    assert index.counts() == PodCounts(static_pods=0, regular_pods=1, ephemeral_containers=3)


def test_a_pod_without_a_source_is_not_static(index: PodIndex) -> None:
    index.add(make_pod(source=""))
    assert index.static_to_mirror() == {}
    assert index.counts().regular_pods == 1


@pytest.mark.parametrize(
    ("mirror", "pod", "expected"),
    [
        (make_pod(mirror="h"), make_pod(config_hash="h"), True),
        (make_pod(mirror="h"), make_pod(config_hash="other"), False),
        (make_pod(), make_pod(), False),
        (make_pod(mirror=""), make_pod(), True),
        (make_pod("shop", mirror="h"), make_pod(config_hash="h"), False),
        (make_pod(namespace="b", mirror="h"), make_pod(config_hash="h"), False),
    ],
    ids=["same hash", "other hash", "no mirror", "no hash", "other name", "other namespace"],
)
@pytest.mark.rule("P21")
def test_a_mirror_is_of_a_pod_by_name_and_hash(mirror: Pod, pod: Pod, *, expected: bool) -> None:
    assert is_mirror_pod_of(mirror, pod) is expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (make_pod(source=FILE), True),
        (make_pod(source=API, mirror=""), True),
        (make_pod(source=API, priority=2_000_000_000), True),
        (make_pod(source=API, priority=1_999_999_999), False),
        (make_pod(source=API), False),
        (edited(make_pod(source=API), spec=None), False),
    ],
    ids=["static", "mirror", "critical priority", "user priority", "no priority", "no spec"],
)
@pytest.mark.rule("P22")
def test_a_pod_is_critical_by_kind_or_priority(pod: Pod, *, expected: bool) -> None:
    assert is_critical(pod) is expected
