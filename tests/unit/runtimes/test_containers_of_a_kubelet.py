"""What is planned for containers that a kubelet made, whose hash nobody else can compute."""

from __future__ import annotations

from typing import Any

from messages.pod_runtime import ContainerObserved
from messages.units import Instant, Seconds
from runtimes.containers.crash_backoff import may_restart_at
from runtimes.containers.learning import note_exits
from runtimes.containers.record import RuntimeRecord
from runtimes.containers.shape import shape_of
from tests.support.builders import make_pod
from tests.support.runtimes.situations import (
    IMAGE,
    NOW,
    WALL,
    created,
    exited,
    next_steps,
    running,
    sandbox,
    spec_of,
)

FOREIGN: dict[str, Any] = {"spec_hash": "5ca1ab1e", "is_foreign": True, "image": IMAGE}
SPEC = spec_of("a")
LONGEST = Seconds(300.0)


def test_they_run_on_until_the_image_is_another_one() -> None:
    assert next_steps(SPEC, running("a", **FOREIGN)) == []
    other = {**FOREIGN, "image": "registry.example/app:2"}
    assert next_steps(SPEC, running("a", **other)) == ["stop a-0 within 30"]
    ours = {**FOREIGN, "is_foreign": False}
    assert next_steps(SPEC, running("a", **ours)) == ["stop a-0 within 30"]


def test_one_that_was_created_and_never_started_is_started() -> None:
    assert next_steps(SPEC, created("a", **FOREIGN)) == ["start a-0"]
    other = {**FOREIGN, "image": "registry.example/app:2"}
    assert next_steps(SPEC, created("a", **other)) == ["remove a-0"]


def test_the_next_instance_has_the_next_attempt() -> None:
    assert next_steps(SPEC, exited("a", 1, 4, **FOREIGN)) == ["create a-5"]


def waits_until(*instances: ContainerObserved) -> float:
    pod = make_pod(spec=SPEC)
    record = RuntimeRecord(pod.uid, 1, pod=pod, shape=shape_of(pod))
    record.contents = (sandbox(*instances),)
    note_exits(record, Instant(NOW, WALL), LONGEST)
    shape = record.shape
    assert shape is not None
    return may_restart_at(record.notes_of("a").crashes, shape.regular[0].spec_hash)


def test_their_crashes_count_for_the_pause_before_the_next_start() -> None:
    earlier = exited("a", 1, 1, **FOREIGN)
    last = {"created_at": WALL + 30, "finished_at": WALL + 40}
    paused = waits_until(earlier, exited("a", 1, 2, **FOREIGN, **last))
    assert paused > NOW
    assert waits_until(earlier, exited("a", 1, 2, **last)) == paused
    assert waits_until(exited("a", 1, 1, **{**FOREIGN, "image": "registry.example/app:2"})) == 0.0
