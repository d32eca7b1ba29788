"""What is known of a runtime: two things teach it, and an old look does not undo what is newer."""

from __future__ import annotations

from dataclasses import replace

from messages.container_runtime import PodIdentity
from messages.pod_runtime import ContainerObserved, ContainerState, SandboxObserved, SandboxState
from messages.pods import PodUid
from messages.units import Timestamp
from runtimes.cri.inventory import ContainerSeen, CriInventory, SandboxSeen, Seen
from runtimes.cri.wire import cri_pb2 as cri

ONE, TWO = PodUid("one"), PodUid("two")
RUNNING, EXITED = ContainerState.RUNNING, ContainerState.EXITED


def sandbox(
    sandbox_id: str = "s", uid: PodUid = ONE, ips: tuple[str, ...] = ("10.0.0.1",)
) -> SandboxSeen:
    return SandboxSeen(
        pod=PodIdentity(uid=uid, namespace="default", name=uid, source="api"),
        observed=SandboxObserved(
            id=sandbox_id,
            attempt=0,
            state=SandboxState.READY,
            created_at=Timestamp(1.0),
            ips=ips,
        ),
    )


def container(
    container_id: str = "c", state: ContainerState = RUNNING, uid: PodUid = ONE
) -> ContainerSeen:
    return ContainerSeen(
        uid=uid,
        sandbox_id="s",
        observed=ContainerObserved(
            id=f"containerd://{container_id}",
            name="main",
            attempt=0,
            state=state,
            image="i",
            image_id="i",
            spec_hash="h",
        ),
        status=cri.ContainerStatus(id=container_id),
    )


def all_seen(began: int, *containers: ContainerSeen, uid: PodUid | None = None) -> Seen:
    return Seen(uid=uid, began=began, sandboxes=(sandbox(),), containers=containers)


def test_a_look_tells_which_pods_have_changed_once() -> None:
    known = CriInventory()
    assert known.take(all_seen(0, container())) == (ONE,)
    assert known.take(all_seen(0, container())) == ()
    assert known.take(all_seen(0, container(state=EXITED))) == (ONE,)
    assert known.take(all_seen(0)) == (ONE,)


def test_a_look_that_began_before_something_was_done_says_nothing_of_it() -> None:
    known = CriInventory()
    known.take(all_seen(0))
    began = known.begin_look()
    known.note_container(container())
    assert known.take(all_seen(began)) == ()
    assert known.container("c") is not None
    began = known.begin_look()
    known.note_removed("c")
    known.take(all_seen(began, container()))
    assert known.container("c") is None


def test_a_look_at_all_that_began_before_one_at_a_pod_says_nothing_of_that_pod() -> None:
    known = CriInventory()
    slow, quick = known.begin_look(), known.begin_look()
    known.take(all_seen(quick, container(), uid=ONE))
    nothing = Seen(uid=None, began=slow, sandboxes=(), containers=())
    assert known.take(nothing) == ()
    assert known.container("c") is not None
    slow, quick = known.begin_look(), known.begin_look()
    known.take(Seen(uid=ONE, began=quick, sandboxes=(), containers=()))
    other = replace(container("d", uid=TWO), sandbox_id="t")
    found = (sandbox(), sandbox("t", TWO))
    assert known.take(
        Seen(uid=None, began=slow, sandboxes=found, containers=(container(), other))
    ) == (TWO,)
    assert (known.contents(ONE), known.owner("d")) == ((), TWO)


def test_a_look_at_a_pod_that_began_before_one_at_all_says_nothing() -> None:
    known = CriInventory()
    slow, quick = known.begin_look(), known.begin_look()
    assert known.take(all_seen(quick, container())) == (ONE,)
    assert known.take(Seen(uid=ONE, began=slow, sandboxes=(), containers=())) == ()
    later = known.begin_look()
    assert known.take(Seen(uid=ONE, began=later, sandboxes=(), containers=())) == (ONE,)


def test_what_is_forgotten_of_moments_is_decided_by_the_next_look() -> None:
    known = CriInventory()
    known.note_sandbox(sandbox())
    known.note_container(container())
    known.forget_moments()
    assert known.take(all_seen(known.begin_look())) == (ONE,)
    assert known.container("c") is None


def test_a_sandbox_that_is_removed_takes_its_containers_with_it() -> None:
    known = CriInventory()
    known.take(all_seen(0, container()))
    known.note_removed("s")
    assert ONE not in known
    assert known.owner("c") is None
    known.note_removed("never-seen")
    known.note_stopped_sandbox("never-seen")


def test_a_look_that_began_before_a_sandbox_was_removed_brings_nothing_of_it_back() -> None:
    known = CriInventory()
    known.take(all_seen(0, container()))
    began = known.begin_look()
    known.note_removed("s")
    assert known.take(all_seen(began, container())) == ()
    assert known.contents(ONE) == ()
    assert (known.owner("s"), known.owner("c")) == (None, None)


def test_a_sandbox_that_has_stopped_keeps_its_address() -> None:
    known = CriInventory()
    known.take(all_seen(0))
    known.note_stopped_sandbox("s")
    known.note_sandbox(sandbox(ips=()))
    ((contents),) = known.contents(ONE)
    assert contents.sandbox.ips == ("10.0.0.1",)


def test_a_container_never_goes_back() -> None:
    known = CriInventory()
    known.take(all_seen(0, container()))
    known.take(all_seen(9, container(state=ContainerState.CREATED)))
    assert known.contents(ONE)[0].containers[0].state is RUNNING
    known.take(all_seen(9, container(state=EXITED)))
    assert known.take(all_seen(9, container(state=RUNNING))) == ()
    assert known.take(all_seen(9, container(state=ContainerState.UNKNOWN))) == ()
    assert known.contents(ONE)[0].containers[0].state is EXITED


def test_an_id_belongs_to_one_pod_whatever_is_said() -> None:
    known = CriInventory()
    known.take(all_seen(0, container()))
    known.take(
        Seen(
            uid=TWO,
            began=9,
            sandboxes=(sandbox(uid=TWO),),
            containers=(container(uid=TWO),),
        )
    )
    assert ONE not in known
    assert known.owner("c") == TWO
    assert known.owner("s") == TWO
