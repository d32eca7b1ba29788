"""Either runtime crashes at any moment: the pods end as without the crash."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.support.crash_matrix import Action, Matrix
from tests.support.runtimes.hollow_stage import hollow_pod
from tests.support.runtimes.situations import container, sidecar
from tests.support.worlds.containers import ContainersWorld

SIDECAR_AND_INIT = hollow_pod(
    "ordered",
    spec={
        "initContainers": [sidecar("s"), container("i")],
        "containers": [container("a"), container("b")],
    },
    run_for__i="1s",
    time_to_start="100ms",
)
ONCE = hollow_pod(
    "once",
    spec={"containers": [container("a")], "restartPolicy": "Never"},
    run_for="3s",
    exits="3",
)
RETRIED = hollow_pod(
    "retried",
    spec={"containers": [container("a")], "restartPolicy": "OnFailure"},
    run_for="1s",
    exits="1,0",
)
PLAIN = hollow_pod("plain")

LIFECYCLE = {
    "postStart": {"exec": {"command": ["sleep", "1"]}},
    "preStop": {"sleep": {"seconds": 1}},
}
HOOKED = hollow_pod(
    "hooked",
    spec={
        "initContainers": [sidecar("s", lifecycle=LIFECYCLE)],
        "containers": [container("a", lifecycle=LIFECYCLE), container("b")],
    },
)

STORIES: dict[str, tuple[Action[ContainersWorld], ...]] = {
    "pods start": tuple(
        partial(ContainersWorld.run, pod=pod) for pod in (SIDECAR_AND_INIT, ONCE, RETRIED)
    ),
    "pods are stopped and forgotten": (
        partial(ContainersWorld.run, pod=PLAIN),
        partial(ContainersWorld.run, pod=SIDECAR_AND_INIT),
        partial(ContainersWorld.stop, pod=SIDECAR_AND_INIT),
        partial(ContainersWorld.forget, pod=PLAIN),
        partial(ContainersWorld.forget, pod=SIDECAR_AND_INIT),
    ),
    "a pod is stopped while it starts": (
        partial(ContainersWorld.run, pod=SIDECAR_AND_INIT),
        partial(ContainersWorld.stop, pod=SIDECAR_AND_INIT),
    ),
    "a pod with hooks": (
        partial(ContainersWorld.run, pod=HOOKED),
        partial(ContainersWorld.run, pod=PLAIN),
        partial(ContainersWorld.stop, pod=HOOKED),
        partial(ContainersWorld.forget, pod=HOOKED),
    ),
    "a pod with hooks runs on": (partial(ContainersWorld.run, pod=HOOKED),),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_crash_changes_nothing_of_what_runs_in_the_end(name: str, tmp_path: Path) -> None:
    matrix = Matrix(ContainersWorld, tmp_path, STORIES[name])
    matrix.run(seeds=range(2), every=4, every_message=2)
    assert matrix.differences == []
    assert matrix.reached > 40
