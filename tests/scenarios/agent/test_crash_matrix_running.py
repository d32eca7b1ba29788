"""No crash, of anybody, at any moment, changes what becomes of pods that run, or disturbs one of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from tests.support.builders import make_pod
from tests.support.crash_matrix import Matrix
from tests.support.worlds.running import NODE, RecordedWorld, RunningWorld

Action: TypeAlias = Callable[[RunningWorld], object]

SEEDS = range(1)
EVERY = int(os.environ.get("CRASH_EVERY", "600"))
"""Of all blows between two messages every 600th; of those at a message, which are few and hit more, every
thirtieth: some 700. ``CRASH_EVERY=1`` takes all of them, which takes hours."""
EVERY_MESSAGE = max(1, EVERY // 20)


def together(*actions: Action) -> Action:
    """Return them as one action: the agent has no time in between."""

    def action(world: RunningWorld) -> None:
        for each in actions:
            each(world)

    return action


def time_passes(seconds: float) -> Action:
    """Let time pass."""
    return lambda world: world.play.advance(seconds)


def bind(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Action:
    """Have somebody create a pod that is bound to this node."""
    hollow = {f"hollow.actorlet/{key}": value for key, value in (annotations or {}).items()}
    pod = make_pod(name, source="", annotations=hollow, spec={"nodeName": NODE, **spec})
    return lambda world: world.store.add(pod.document)


def delete(name: str, grace: int | None = None) -> Action:
    """Have an administrator delete a pod, gracefully unless ``grace`` is 0."""
    return lambda world: world.store.remove("pods", "default", name, grace=grace)


def write(name: str, image: str = "web:1", uid: str = "") -> Action:
    """Write a manifest, or edit it. Its container ignores SIGTERM for two seconds."""
    fixed = f", uid: '{uid}'" if uid else ""
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{fixed}, annotations: "
        "{hollow.actorlet/time-to-stop: 2s}}\n"
        f"spec: {{containers: [{{name: main, image: '{image}'}}]}}\n"
    )

    def action(world: RunningWorld) -> None:
        world.files.write(f"{name}.yaml", text)
        world.files.watches.notice()

    return action


def remove(name: str) -> Action:
    """Remove a manifest."""

    def action(world: RunningWorld) -> None:
        (world.files.path / f"{name}.yaml").unlink()
        world.files.watches.notice()

    return action


def make_secret(name: str) -> Action:
    """Have a user create a Secret."""
    document = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"key": "dmFsdWU="},
    }
    return lambda world: world.store.add(document)


def go_away(world: RunningWorld) -> None:
    """Have the API server be away."""
    world.api_goes_away()


def come_back(world: RunningWorld) -> None:
    """Have the API server be back."""
    world.api_comes_back()


def kill_agent(world: RunningWorld) -> None:
    """Kill the agent, and start it again."""
    world.agent_is_killed()


def container(name: str, **fields: Any) -> dict[str, Any]:
    """Return a container."""
    return {"name": name, "image": f"registry.example/{name}:1", **fields}


SHOP: Final = bind(
    "shop",
    {"run-for.prepare": "1s", "time-to-pull": "300ms"},
    initContainers=[container("prepare"), container("proxy", restartPolicy="Always")],
    containers=[container("server"), container("helper")],
    terminationGracePeriodSeconds=5,
)
JOB: Final = bind(
    "job",
    {"run-for": "1s", "exits": "1,0"},
    restartPolicy="OnFailure",
    containers=[container("work")],
)
ENV: Final = [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "token", "key": "key"}}}]
NEEDY: Final = bind(
    "needy",
    containers=[container("main", env=ENV, volumeMounts=[{"name": "v", "mountPath": "/v"}])],
    volumes=[{"name": "v", "secret": {"secretName": "token"}}],
)
PAGE: Final = {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 2}
PROBED: Final = bind(
    "probed",
    {"started-after.server": "2s", "ready-after.server": "5s", "hangs-after.server": "45s"},
    initContainers=[
        container("proxy", restartPolicy="Always", startupProbe=PAGE, readinessProbe=PAGE)
    ],
    containers=[
        container(
            "server",
            startupProbe={**PAGE, "failureThreshold": 30},
            readinessProbe=PAGE,
            livenessProbe={**PAGE, "terminationGracePeriodSeconds": 2},
        ),
        container("helper"),
    ],
    terminationGracePeriodSeconds=5,
)
LIFECYCLE: Final = {
    "postStart": {"exec": {"command": ["sleep", "1"]}},
    "preStop": {"sleep": {"seconds": 1}},
}
HOOKED: Final = bind(
    "hooked",
    initContainers=[container("proxy", restartPolicy="Always", lifecycle=LIFECYCLE)],
    containers=[container("server", lifecycle=LIFECYCLE), container("helper")],
    terminationGracePeriodSeconds=5,
)

STORIES: dict[str, tuple[Action, ...]] = {
    "init container and sidecar": (SHOP, delete("shop", 3)),
    "hooks": (HOOKED, delete("hooked", 4)),
    "probes that fail once": (PROBED, time_passes(1.0)),
    "probes of a pod that is deleted": (PROBED, delete("probed", 4)),
    "work that fails once": (JOB, time_passes(12.0), delete("job")),
    "static, edited, withdrawn, put back": (
        write("web"),
        write("web", image="web:2"),
        remove("web"),
        write("web", image="web:2"),
    ),
    "static with a UID of its own, put back at once": (
        write("web", uid="fixed"),
        together(remove("web"), time_passes(0.5), write("web", uid="fixed")),
    ),
    "a Secret comes late": (NEEDY, make_secret("token")),
    "the API server is away": (
        together(SHOP, JOB),
        go_away,
        together(delete("shop", 3), write("web"), time_passes(12.0)),
        come_back,
    ),
    "created again under its name": (
        bind("web"),
        together(delete("web", 0), bind("web")),
        go_away,
        together(delete("web", 0), bind("web")),
        come_back,
    ),
}
KILLED: dict[str, tuple[Action, ...]] = {
    "while all run": (together(SHOP, JOB, write("web")), kill_agent, delete("shop", 3)),
    "while they are probed": (PROBED, time_passes(8.0), kill_agent),
    "while they begin": (together(SHOP, write("web"), time_passes(0.3)), kill_agent),
    "while one is being deleted": (
        together(SHOP, write("web")),
        together(delete("shop", 5), time_passes(0.2)),
        kill_agent,
    ),
    "and a manifest was edited meanwhile": (
        write("web"),
        together(write("web", image="web:2"), kill_agent),
    ),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.timeout(3600)  # for ``CRASH_EVERY=1``
def test_pods_are_the_same_in_the_end_whoever_crashes_wherever(tmp_path: Path, name: str) -> None:
    matrix = Matrix(RunningWorld, tmp_path, STORIES[name])
    matrix.run(SEEDS, EVERY, EVERY_MESSAGE)
    assert matrix.differences == []
    assert matrix.reached >= 10


@pytest.mark.parametrize("name", KILLED)
@pytest.mark.parametrize("world", [RunningWorld, RecordedWorld])
@pytest.mark.timeout(3600)
def test_so_they_are_when_the_agent_is_killed_beside_that(
    tmp_path: Path, name: str, world: type[RunningWorld]
) -> None:
    matrix = Matrix(world, tmp_path, KILLED[name])
    matrix.run(SEEDS, EVERY, EVERY_MESSAGE)
    assert matrix.differences == []
    assert matrix.reached >= 10
