"""Fixtures of the kernel's stories: players of either type, on either runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernel import Runtime, Steps, SupervisorSpec, Threads
from tests.support.kernel.players import Gate, Lines, OwnThreadPlayer, PooledPlayer, Troupe, key
from tests.support.kernel.stage import Stage, live_stage, stage


@pytest.fixture(params=[OwnThreadPlayer, PooledPlayer], ids=["actor", "pooled"])
def troupe(request: pytest.FixtureRequest) -> Troupe:
    """Return players of one actor type. Each story is told with both types."""
    kind: type[Lines] = request.param
    return Troupe(kind)


@pytest.fixture(params=[Steps, Threads], ids=["steps", "threads"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Return a runtime. Each story is told in single steps and on real threads."""
    kind: type[Steps | Threads] = request.param
    return kind()


@pytest.fixture
def play(troupe: Troupe, runtime: Runtime) -> Iterator[Stage]:
    """Start the smallest tree: one player, ``web``, below the root."""
    spec = SupervisorSpec(name="root", children=(troupe.child(key("web")),))
    with stage(spec, runtime) as play:
        yield play


@pytest.fixture
def live_play(troupe: Troupe) -> Iterator[Stage]:
    """Start the same tree on real threads and the machine's clock."""
    with live_stage(SupervisorSpec(name="root", children=(troupe.child(key("web")),))) as play:
        yield play


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return a gate. It is opened by the test, or at its end."""
    gate = Gate()
    yield gate
    gate.open()
