"""The heap of steps of a hollow runtime, its images, and the form of what it saves."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.container_runtime import PodIdentity, RunSandbox, RuntimeFailure
from messages.pods import PodUid
from messages.units import Instant, Seconds, Timestamp
from runtimes.hollow.inventory import SandboxDies, SandboxRecord, Schedule
from runtimes.hollow.machine import HollowMachine, Images
from runtimes.hollow.rules import ContainerBehaviour, Ending, HollowRules, ImageBehaviour
from runtimes.hollow.saved import SavedContainer, SavedPod, SavedSandbox, decoded, encoded
from tests.support.runtimes.hollow_stage import HollowStage, hollow_pod, hollow_stage

NOW = Instant(Seconds(10.0), Timestamp(1000.0))


def sandbox() -> SandboxRecord:
    machine = HollowMachine(HollowRules())
    machine.run_sandbox(RunSandbox(pod=hollow_pod(), attempt=0), NOW)
    return next(machine.inventory.sandboxes())


def step(due: float) -> SandboxDies:
    return SandboxDies(Seconds(due), sandbox())


def test_steps_come_in_the_order_in_which_they_are_due() -> None:
    schedule, steps = Schedule(), [step(due) for due in (3.0, 1.0, 2.0, 1.0)]
    for each in steps:
        schedule.add(each)
    assert schedule.next_due() == 1.0
    taken = [schedule.pop_due(Seconds(2.5)) for _ in range(4)]
    assert taken == [steps[1], steps[3], steps[2], None]
    assert len(schedule) == 1


def test_a_cancelled_step_does_not_come_and_takes_no_room_for_long() -> None:
    schedule, steps = Schedule(), [step(float(due)) for due in range(300)]
    for each in steps:
        schedule.add(each)
    for cancelled in (None, *steps[:200], *steps[:200]):
        schedule.cancel(cancelled)
    assert len(schedule) == 100
    assert len(schedule._heap) <= 200
    assert schedule.next_due() == 200.0
    schedule.cancel(schedule.pop_due(Seconds(200.0)))
    assert len(schedule) == 99


def test_the_image_that_was_pulled_first_is_dropped_first() -> None:
    images, usual = Images(), ImageBehaviour()
    for number in range(10_001):
        images.have(f"app:{number}")
    assert images.find("app:0", PodUid("u"), usual).image_id == ""
    assert images.find("app:1", PodUid("u"), usual).image_id.startswith("app@sha256:")


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("app", "app@sha256:"),
        ("registry:5000/app", "registry:5000/app@sha256:"),
        ("registry:5000/app:1", "registry:5000/app@sha256:"),
        ("app@sha256:0123", "app@sha256:0123"),
    ],
)
def test_an_image_is_known_by_its_repository_and_a_digest(image: str, found: str) -> None:
    assert Images().have(image).image_id.startswith(found)
    assert Images().have(image) == Images().have(image)


def test_without_an_address_there_is_no_sandbox() -> None:
    machine = HollowMachine(HollowRules(pod_networks=(IPv4Network("10.0.0.0/30"),)))
    machine.run_sandbox(RunSandbox(pod=hollow_pod("a"), attempt=0), NOW)
    failure = machine.run_sandbox(RunSandbox(pod=hollow_pod("b"), attempt=0), NOW)
    assert isinstance(failure, RuntimeFailure)
    assert failure.message == (
        "failed to set up the network of the sandbox:"
        " no IP addresses available in range set: 10.0.0.2-10.0.0.2"
    )
    on_the_node = hollow_pod("c", spec={"hostNetwork": True})
    assert not isinstance(
        machine.run_sandbox(RunSandbox(pod=on_the_node, attempt=0), NOW), RuntimeFailure
    )


def is_refused(line: bytes) -> bool:
    try:
        decoded(line)
    except ValueError:
        return True
    return False


@pytest.fixture
def line() -> bytes:
    """Return the line of a pod with a container."""
    with hollow_stage() as stage:
        return encoded(saved_pod(stage))


def saved_pod(stage: HollowStage) -> SavedPod:
    pod = hollow_pod(exits="1,run,OOMKilled", run_for="1s-3s", message="bye")
    container = SavedContainer(
        observed=replace(stage.started(pod), resources={"limits": {"cpu": "1"}}),
        behaviour=ContainerBehaviour(exits=(Ending(1, "Error"), None)),
        ends_at=Timestamp(5.5),
        ending=Ending(137, "OOMKilled"),
    )
    identity = PodIdentity(uid=pod.uid, namespace="default", name="web", source="file")
    contents = stage.memory.core.machine.inventory.contents(pod.uid)[0]
    return SavedPod(
        uid=pod.uid,
        sandboxes=(SavedSandbox(pod=identity, observed=contents.sandbox, containers=(container,)),),
    )


def test_a_saved_pod_comes_back_as_it_was() -> None:
    with hollow_stage() as stage:
        pod = saved_pod(stage)
    assert decoded(encoded(pod)) == pod
    assert b"\n" not in encoded(pod)
    assert decoded(encoded(SavedPod(uid=PodUid("u")))) == SavedPod(uid=PodUid("u"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "1",
        '{"uid":1}',
        '{"uid":"u","more":1}',
        '{"uid":"u","sandboxes":{}}',
        "[" * 9999,
    ],
)
def test_what_is_no_saved_pod_is_refused(text: str) -> None:
    assert is_refused(text.encode())


def test_a_line_of_several_pods_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="several pods"):
        decoded(line.replace(b'{"uid":"', b'{"uid":"x', 1))


@given(st.data())
def test_a_line_that_somebody_changed_is_read_or_refused(data: st.DataObject) -> None:
    with hollow_stage() as stage:
        document = json.loads(encoded(saved_pod(stage)))
    target = document
    while True:
        keys = list(target) if isinstance(target, dict) else list(range(len(target)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(target[key], dict | list) or not target[key] or data.draw(st.booleans()):
            break
        target = target[key]
    target[key] = data.draw(
        st.sampled_from([None, True, -1, 1e308, float("nan"), "", "x", [], [[]], {}, {"a": {}}])
    )
    try:
        pod = decoded(json.dumps(document).encode())
    except ValueError:
        return
    assert decoded(encoded(pod)) == pod
