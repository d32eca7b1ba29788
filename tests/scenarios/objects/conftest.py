"""What the stories of watchers, of managers and of local objects have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel import Runtime
from tests.support.objects.local_objects_stage import LocalObjectsStage, local_objects_stage
from tests.support.objects.manager_stage import ManagerStage, manager_stage
from tests.support.objects.watcher_stage import WatcherStage, watcher_stage


@pytest.fixture
def stage(runtime: Runtime) -> Iterator[WatcherStage]:
    """Return a watcher that was told nothing."""
    with watcher_stage(runtime) as stage:
        yield stage


@pytest.fixture
def good(stage: WatcherStage) -> WatcherStage:
    """Return a watcher whose Secret is watched and was not read."""
    return stage.synced()


@pytest.fixture
def by_hand(stage: WatcherStage) -> WatcherStage:
    """Return a watcher that knows one version, and whom the test tells the rest."""
    return stage.by_hand()


@pytest.fixture
def silent(stage: WatcherStage) -> WatcherStage:
    """Return a watcher whose API server is silent: the test tells it everything."""
    stage.watches.hold_lists()
    return stage


@pytest.fixture
def manager() -> Iterator[ManagerStage]:
    """Return a manager that knows nothing."""
    with manager_stage() as stage:
        yield stage


@pytest.fixture
def slow(manager: ManagerStage) -> ManagerStage:
    """Return a manager whose holders let go when the test says so."""
    manager.take_their_time = True
    return manager


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an empty directory of objects."""
    path = tmp_path / "objects"
    path.mkdir()
    return path


@pytest.fixture
def files(runtime: Runtime, path: Path) -> Iterator[LocalObjectsStage]:
    """Return the holder of an empty directory."""
    with local_objects_stage(path, runtime) as files:
        yield files
