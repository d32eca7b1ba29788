"""The index of references: which pods reference which objects, and what an entry touches."""

from __future__ import annotations

from random import Random

import pytest

from manifests.references import Use
from messages.changes import Op, PodChange
from messages.holders import EVERY_MARK, NO_MARK, Mark
from messages.objects import Change, ObjectChanged, ObjectId, ObjectKind, Origin
from messages.pods import API, FILE, HTTP, Pod, PodUid
from stores.objects.changes import decisions
from stores.objects.reference_index import PodReferences, ReferenceIndex, ReferenceMemory
from tests.support.builders import edited, make_mirror
from tests.support.objects.manager_players import changed, needing, secret

DB, TLS = secret("db"), secret("tls")
WEB = needing("web", "db")


@pytest.fixture
def index() -> ReferenceIndex:
    return ReferenceIndex(ObjectKind.SECRET, ReferenceMemory())


def counts(index: ReferenceIndex) -> dict[str, int]:
    """Return how many pods reference each object."""
    return {one.display_name: index.references(one).pods for one in index.objects()}


def enter(index: ReferenceIndex, entry: str) -> int:
    """Register (``+``) or unregister (``-``) a pod, and return how many reference the object."""
    namespace, _, name = entry[1:].rpartition("/")
    pod = needing(name, "db", namespace=namespace or "default")
    if entry.startswith("+"):
        index.register(pod)
    else:
        index.unregister(pod.uid)
    return index.references(DB).pods


# Quirk K21: there is no count that could go below zero.
@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("+p1 +p1 -p1 -p1", [1, 1, 0, 0]),
        ("-p1", [0]),
        ("+p1 -p1 -p1", [1, 0, 0]),
        ("+p1 -p2", [1, 1]),
        ("+p1 -other/p1", [1, 1]),
        ("+p1 +p2 -p1 -p1 -p2", [1, 2, 1, 1, 0]),
    ],
)
def test_references_are_sets_of_pods(
    index: ReferenceIndex, entries: str, expected: list[int]
) -> None:
    assert [enter(index, entry) for entry in entries.split()] == expected


def test_an_index_in_which_everything_was_taken_back_is_empty(index: ReferenceIndex) -> None:
    memory = ReferenceMemory()
    index = ReferenceIndex(ObjectKind.SECRET, memory)
    index.register(WEB)
    index.replace(API, (WEB, needing("shop", "tls")))
    index.apply([PodChange(op=Op.REMOVE, pod=WEB)])
    index.replace(API, ())
    index.unregister(WEB.uid)
    index.unregister(PodUid("nobody"))
    assert (memory.pods, memory.objects) == ({}, {})
    assert index.references(DB) == PodReferences(0, NO_MARK, wants_changes=False)


def test_an_entry_names_the_objects_whose_references_it_changed(index: ReferenceIndex) -> None:
    assert set(index.register(needing("web", "db", "tls")).touched) == {DB, TLS}
    assert set(index.register(needing("web", "db", "tls")).touched) == set()
    # All of a pod's objects once something about it is another: who uses them may want other things.
    assert set(index.register(needing("web", "db")).touched) == {DB, TLS}
    assert set(index.register(needing("web", "db", hook="restart")).touched) == {DB}
    assert set(index.unregister(WEB.uid).touched) == {DB}


def test_an_object_that_changes_hands_in_a_batch_is_referenced_all_the_while(
    index: ReferenceIndex,
) -> None:
    old, new = needing("web", "db", uid="old"), needing("web", "db", uid="new")
    index.replace(API, (old,))
    batch = [PodChange(op=Op.REMOVE, pod=old), PodChange(op=Op.ADD, pod=new)]
    assert set(index.apply(batch).touched) == {DB}
    assert index.references(DB).pods == 1
    assert index.mark(new.uid, DB) == 2
    assert index.mark(old.uid, DB) is None


def test_the_newest_mark_is_that_of_the_latest_that_is_left(index: ReferenceIndex) -> None:
    index.register(WEB)
    index.register(needing("shop", "db"))
    assert index.references(DB).newest == 2
    # Told again: its references are old ones.
    index.register(WEB)
    assert index.references(DB).newest == 2
    index.unregister(needing("shop").uid)
    assert index.references(DB).newest == 1


def test_a_listing_leaves_other_sources_and_registered_pods_alone(index: ReferenceIndex) -> None:
    index.replace(HTTP, (needing("one", "db"),))
    index.replace(API, (needing("two", "db"), needing("moves", "db")))
    index.replace(HTTP, (needing("moves", "db"),))
    index.register(needing("three", "db"))
    assert index.references(DB).pods == 3
    index.replace(API, ())
    assert index.references(DB).pods == 2
    index.replace(HTTP, ())
    assert index.references(DB).pods == 1


@pytest.mark.parametrize(
    "pod",
    [
        make_mirror(WEB, spec=WEB.document["spec"]),
        needing("web", "db", phase="Succeeded"),
        needing("web", "db", phase="Failed"),
        needing("web", config_maps=["db"]),
        needing("web"),
    ],
    ids=["mirror", "succeeded", "failed", "another kind", "nothing"],
)
def test_pods_that_need_nothing_are_known_and_reference_nothing(
    index: ReferenceIndex, pod: Pod
) -> None:
    index.register(pod)
    assert counts(index) == {}
    assert index.pods() == 0
    assert index.get(pod.uid) is not None


@pytest.mark.parametrize(
    ("source", "origin"),
    [("api", Origin.API), ("", Origin.API), ("file", Origin.LOCAL), ("http", Origin.LOCAL)],
)
def test_static_pods_mean_local_objects(index: ReferenceIndex, source: str, origin: Origin) -> None:
    index.register(needing("web", "db", source=source))
    wanted = secret("db", origin=origin)
    assert list(index.objects()) == [wanted]
    assert index.mark(WEB.uid, wanted) == 1


def test_what_a_source_says_of_a_pod_counts_before_what_it_was_registered_with(
    index: ReferenceIndex,
) -> None:
    index.register(needing("web", "db", hook="restart"))
    index.replace(API, (needing("web", "tls", pull=["db"], deleting=True),))
    needs = index.get(WEB.uid)
    assert needs is not None
    assert (needs.hook, needs.is_ending) == (None, True)
    assert needs.references == {TLS: {Use.VOLUME}, DB: {Use.VOLUME, Use.PULL}}
    assert index.pods() == 1


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("restart", {"volume", "env", "volume and env"}),
        ("signal:SIGHUP", {"volume", "volume and env"}),
        ("none", set()),
        ("nonsense", set()),
    ],
)
def test_a_hook_is_for_objects_whose_changes_a_pod_that_runs_can_see(
    index: ReferenceIndex, hook: str, expected: set[str]
) -> None:
    index.register(
        needing(
            *("web", "volume", "volume and env"),
            pull=["pull", "volume"],
            env=["env", "volume and env"],
            hook=hook,
        )
    )
    objects = list(index.objects())
    assert {one.name for one in objects if index.references(one).wants_changes} == expected
    assert {one.name for one in objects if list(index.hooked_pods(one))} == expected
    assert len(objects) == 4


def test_a_pod_has_all_the_uses_that_both_who_hold_it_say(index: ReferenceIndex) -> None:
    index.register(needing("web", env=["db"]))
    index.replace(API, (needing("web", "db", hook="signal:SIGHUP"),))
    assert index.references(DB).wants_changes
    index.replace(API, (needing("web", pull=["db"], hook="signal:SIGHUP"),))
    assert not index.references(DB).wants_changes
    index.replace(API, (needing("web", pull=["db"], hook="restart"),))
    assert index.references(DB).wants_changes


def test_who_wants_something_done_is_named_when_they_begin_to(index: ReferenceIndex) -> None:
    wants, other = needing("web", "db", hook="restart"), needing("web", "db", hook="signal:SIGHUP")
    assert [pod.name for pod in index.replace(API, (wants,)).hooked] == ["default/web"]
    assert not index.replace(API, (wants,)).hooked
    assert not index.replace(API, (other,)).hooked
    assert not index.register(wants).hooked
    assert not index.replace(API, (WEB,)).hooked
    assert not index.register(needing("other", pull=["db"], hook="restart")).hooked
    assert not index.register(needing("other", env=["db"], hook="signal:SIGHUP")).hooked
    changes = [PodChange(op=Op.ADD, pod=pod) for pod in (wants, needing("next", "db", hook="none"))]
    assert [pod.name for pod in index.apply(changes).hooked] == ["default/web"]


def test_references_of_one_use_share_what_says_so(index: ReferenceIndex) -> None:
    index.register(needing("web", "db", "tls", env=["tls"]))
    index.register(needing("shop", "db", "tls", env=["tls"]))
    web, shop = index.get(WEB.uid), index.get(needing("shop").uid)
    assert web is not None
    assert shop is not None
    assert web.references[DB] is shop.references[DB]
    assert web.references[TLS] is shop.references[TLS]


def test_a_bad_annotation_is_named_once_for_each_that_is_told(index: ReferenceIndex) -> None:
    bad, worse = needing("web", "db", hook="nonsense"), needing("web", "db", hook="signal:")
    assert [pod.name for pod in index.replace(API, (bad,)).unreadable] == ["default/web"]
    assert not index.replace(API, (bad,)).unreadable
    assert [bool(pod.hook_error) for pod in index.replace(API, (worse,)).unreadable] == [True]
    assert not index.replace(API, (WEB,)).unreadable
    assert not index.register(needing("other", hook="nonsense")).unreadable
    assert [
        pod.name for pod in index.register(needing("other", "db", hook="nonsense")).unreadable
    ] == ["default/other"]


def test_the_book_keeps_no_document(index: ReferenceIndex) -> None:
    index.register(needing("web", "db", image="registry.example/a-long-name"))
    assert "registry.example" not in repr(index.get(WEB.uid))


# --- decisions ----------------------------------------------------------------------------------------


def decided(index: ReferenceIndex, about: ObjectChanged, up_to: Mark = EVERY_MARK) -> list[str]:
    made = decisions(about, index.hooked_pods(about.object, up_to), Random(7))
    return [f"{one.pod_name} {one.action} {one.signal}".strip() for one in made]


def test_each_pod_that_wants_something_decides(index: ReferenceIndex) -> None:
    index.register(needing("a", "db", hook="restart"))
    index.register(needing("b", "db", hook="signal:SIGUSR1,splay=10s"))
    index.register(needing("c", "db"))
    assert decided(index, changed(DB)) == ["default/a restart", "default/b signal SIGUSR1"]


def test_a_splay_spreads_pods_over_the_whole_of_it(index: ReferenceIndex) -> None:
    index.replace(FILE, [needing(f"p{n}", "db", hook="restart,splay=100s") for n in range(200)])
    delays = [one.delay for one in decisions(changed(DB), index.hooked_pods(DB), Random(7))]
    assert len(set(delays)) == 200
    assert all(0 <= delay <= 100 for delay in delays)
    assert (min(delays) < 5, max(delays) > 95) == (True, True)


@pytest.mark.parametrize("change", list(Change))
def test_nothing_is_decided_when_no_key_is_another(index: ReferenceIndex, change: Change) -> None:
    index.register(needing("a", "db", hook="restart"))
    assert decided(index, changed(DB, "2", change, keys=())) == []


def test_nothing_is_decided_about_what_is_seen_first_or_goes(index: ReferenceIndex) -> None:
    index.register(needing("a", "db", hook="restart"))
    assert decided(index, changed(DB, "2", Change.ADDED), NO_MARK) == []
    assert decided(index, changed(DB, "2", Change.DELETED)) == []
    assert decided(index, changed(DB, "2", Change.ADDED)) == ["default/a restart"]


def test_nothing_is_decided_for_pods_that_came_after_a_mark(index: ReferenceIndex) -> None:
    index.register(needing("a", "db", hook="restart"))
    index.register(needing("b", "db", hook="restart"))
    mark = index.references(DB).newest
    index.register(needing("c", "db", hook="restart"))
    assert decided(index, changed(DB), mark) == ["default/a restart", "default/b restart"]
    # One that is described anew is no new pod.
    index.register(needing("a", "db", hook="signal:SIGHUP"))
    assert decided(index, changed(DB), mark) == ["default/a signal SIGHUP", "default/b restart"]


def test_a_name_means_the_object_of_the_pod_s_namespace(index: ReferenceIndex) -> None:
    index.register(needing("web", "db", namespace="shop", source="file"))
    needs = index.get(PodUid("uid-shop-web"))
    assert needs is not None
    assert needs.object(ObjectKind.SECRET, "db") == ObjectId(
        kind=ObjectKind.SECRET, namespace="shop", name="db", origin=Origin.LOCAL
    )


def test_a_pod_requires_what_any_of_its_references_and_versions_requires(
    index: ReferenceIndex,
) -> None:
    optional = [{"name": "db", "secret": {"secretName": "db", "optional": True}}]
    required = [{"name": "db", "secret": {"secretName": "db"}}]
    for listed, registered, expected in (
        (optional, None, False),
        (required, None, True),
        ([*optional, *required], None, True),
        (optional, optional, False),
        (optional, required, True),
        (required, optional, True),
        ([], optional, False),
    ):
        index.replace(API, (edited(WEB, spec={"volumes": listed}),))
        if registered is not None:
            index.register(edited(WEB, spec={"volumes": registered}))
        (pod,) = index.pods_of(DB)
        assert pod.requires(DB) is expected
        assert index.count_of(DB) == 1
        index.unregister(WEB.uid)
