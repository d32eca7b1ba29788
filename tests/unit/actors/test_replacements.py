"""Static pods of a kubelet that are stopped and started under other UIDs: one at a time, in their grace."""

from __future__ import annotations

from actors.pods.pod_workers import MOST_LISTINGS
from messages.pod_lives import PodLife
from messages.pod_runtime import RuntimePod
from messages.pods import FILE, Pod, PodUid
from tests.support.builders import make_pod
from tests.unit.actors.test_pod_workers import Rostering, started

LISTED = frozenset({FILE})


def left(name: str, *, is_foreign: bool = True, containers: int = 1) -> RuntimePod:
    """Return a pod as the runtime has it from a kubelet."""
    return RuntimePod(
        uid=PodUid(f"k-{name}"),
        namespace="default",
        name=name,
        source=FILE,
        is_running=True,
        running_containers=containers,
        is_foreign=is_foreign,
    )


def new(name: str, grace: int | None = None) -> Pod:
    spec = {} if grace is None else {"terminationGracePeriodSeconds": grace}
    return make_pod(name, uid=f"n-{name}", spec=spec)


class Handover(Rostering):
    """A roster on a node where a kubelet left static pods."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        for name in names:
            self.pod_workers.note_runtime_pod(left(name))
            self.pod_workers.list_pod(new(name))

    def sweeps(self) -> list[str]:
        """Stop what may be stopped, and return the UIDs whose workers are started for it."""
        for uid in tuple(self.pod_workers.orphans(LISTED)):
            self.pod_workers.stop_orphan(uid)
        return started(self.effects())

    def ends(self, name: str) -> list[str]:
        """Have the kubelet's pod be gone, and return who starts then."""
        self.lives(f"k-{name}", PodLife.FINISHED)
        return started(self.effects())

    def lists(self, *found: RuntimePod) -> None:
        """Have the runtime list."""
        for each in found:
            self.pod_workers.note_runtime_pod(each)
        self.pod_workers.note_listing()


def runs(name: str, containers: int = 1) -> RuntimePod:
    """Return a pod as the runtime has it under its new UID."""
    pod = left(name, is_foreign=False, containers=containers)
    return RuntimePod(
        uid=PodUid(f"n-{name}"),
        namespace=pod.namespace,
        name=name,
        source=FILE,
        is_running=True,
        running_containers=containers,
    )


def test_the_next_one_is_stopped_when_the_one_before_runs_again() -> None:
    play = Handover("etcd", "web")
    assert play.pod_workers.replaced(play.pod_workers.orphans(LISTED)) == [
        "default/etcd",
        "default/web",
    ]
    assert play.sweeps() == ["k-etcd"]
    assert play.sweeps() == []
    play.lists(left("etcd"), left("web"))
    assert play.sweeps() == []
    assert play.ends("etcd") == ["n-etcd"]
    play.lists(runs("etcd", containers=0), left("web"))
    assert play.sweeps() == []
    assert play.pod_workers.is_replacing
    play.lists(runs("etcd"), left("web"))
    assert play.sweeps() == ["k-web"]
    assert play.ends("web") == ["n-web"]
    play.lists(runs("web"))
    assert not play.pod_workers.is_replacing


def test_it_has_the_grace_of_the_manifest() -> None:
    play = Rostering()
    for name, grace in (("long", 90), ("plain", None), ("none", 0)):
        play.pod_workers.note_runtime_pod(left(name))
        play.pod_workers.list_pod(new(name, grace))
    graces = []
    for name in ("long", "plain", "none"):
        play.pod_workers.stop_orphan(PodUid(f"k-{name}"))
        graces.append(play.memory.records[PodUid(f"k-{name}")].grace)
        play.memory.replacing = None
    assert graces == [90.0, 30.0, 1.0]


def test_one_that_does_not_run_in_time_holds_up_nobody() -> None:
    play = Handover("etcd", "web")
    play.sweeps()
    play.ends("etcd")
    for _ in range(MOST_LISTINGS):
        play.lists(left("web"))
        assert play.sweeps() == []
    play.lists(left("web"))
    assert play.sweeps() == ["k-web"]


def test_one_that_ends_or_is_not_listed_any_more_holds_up_nobody() -> None:
    play = Handover("once", "web")
    play.sweeps()
    play.ends("once")
    play.lives("n-once", PodLife.TERMINATED)
    assert play.sweeps() == ["k-web"]
    gone = Handover("gone", "web")
    gone.sweeps()
    gone.pod_workers.remove_pod(PodUid("n-gone"), FILE)
    gone.ends("gone")
    gone.lists()
    assert not gone.pod_workers.is_replacing


def test_pods_that_nobody_takes_the_place_of_wait_for_nobody() -> None:
    play = Handover("etcd", "web")
    play.pod_workers.note_runtime_pod(left("gone"))
    assert set(play.sweeps()) == {"k-etcd", "k-gone"}
    assert play.memory.records[PodUid("k-gone")].grace == 1.0


def test_pods_of_this_agent_that_were_edited_meanwhile_are_replaced_all_at_once() -> None:
    play = Rostering()
    for name in ("one", "two"):
        play.pod_workers.note_runtime_pod(left(name, is_foreign=False))
        play.pod_workers.list_pod(new(name))
    for uid in tuple(play.pod_workers.orphans(LISTED)):
        play.pod_workers.stop_orphan(uid)
    assert started(play.effects()) == ["k-one", "k-two"]
