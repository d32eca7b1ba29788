"""A pod of which nobody has the specification any more, as its containers tell of it."""

from __future__ import annotations

from dataclasses import replace

from messages.container_runtime import PodIdentity, SandboxContents
from messages.pod_runtime import (
    ContainerObserved,
    ContainerState,
    SandboxObserved,
    SandboxState,
    StopTerms,
)
from messages.pods import JsonObject, PodUid
from messages.units import Seconds, Timestamp
from runtimes.containers.contents import Contents
from runtimes.containers.shape import restored_shape, written_grace

POD = PodIdentity(uid=PodUid("u1"), namespace="default", name="web", source="file")
SANDBOX = SandboxObserved(
    id="s0", attempt=0, state=SandboxState.READY, created_at=Timestamp(1.0), ips=()
)
HOOK: JsonObject = {"exec": {"command": ["bye"]}}


def one(name: str, terms: StopTerms | None, attempt: int = 0) -> ContainerObserved:
    identity = f"{name}-{attempt}"
    return ContainerObserved(
        id=identity, name=name, attempt=attempt, state=ContainerState.RUNNING, stop_terms=terms
    )


def contents(*containers: ContainerObserved) -> Contents:
    return (SandboxContents(pod=POD, sandbox=SANDBOX, containers=containers),)


def test_containers_that_say_nothing_restore_nothing() -> None:
    assert restored_shape(()) is None
    assert restored_shape(contents(one("main", None))) is None
    assert written_grace(contents(one("main", None), one("other", StopTerms(sidecar=0)))) is None


def test_hooks_and_their_ports_come_back() -> None:
    terms = StopTerms(grace=Seconds(9.0), pre_stop=HOOK, ports=({"name": "web"},))
    shape = restored_shape(contents(one("main", terms), one("plain", None)))
    assert shape is not None
    assert shape.has_hooks
    main, plain = shape.regular
    assert (main.name, main.pre_stop, main.document["ports"]) == ("main", HOOK, [{"name": "web"}])
    assert (plain.name, plain.pre_stop) == ("plain", None)


def test_sidecars_come_back_in_their_order() -> None:
    places = {"late": 4, "early": 1}
    sidecars = [one(name, StopTerms(sidecar=place)) for name, place in places.items()]
    shape = restored_shape(contents(*sidecars, one("main", None)))
    assert shape is not None
    assert [each.name for each in shape.inits] == ["early", "late"]
    assert [each.name for each in shape.regular] == ["main"]


def test_of_a_container_the_newest_instance_counts() -> None:
    old = one("main", StopTerms(pre_stop=HOOK))
    new = replace(one("main", StopTerms(grace=Seconds(1.0)), attempt=1))
    shape = restored_shape(contents(old, new))
    assert shape is not None
    assert not shape.has_hooks


def test_a_grace_is_that_of_any_container_and_has_an_end() -> None:
    many = Seconds(1e12)
    found = written_grace(contents(one("a", None), one("b", StopTerms(grace=many))))
    assert found == 366 * 86_400.0
