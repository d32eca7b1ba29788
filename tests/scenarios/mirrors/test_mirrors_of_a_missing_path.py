"""An agent that is started before its manifest path is there, and the mirrors of its last life."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typing_extensions import override

from actors.pod_manager import POD_MANAGER
from manifests.pod_manifest import ManifestRules
from messages.node import NodeUid
from messages.pods import FILE
from sources.file import FILE_SOURCE, FileMemory, FileSource, FileSourceRules
from tests.support.apiserver.store import ApiStore
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.files.files_stage import SCAN
from tests.support.kernel.stage import Stage, StagedActor
from tests.support.mirrors.mirror_stage import NODE, MirrorStage
from tests.support.sources.file_source_stage import pod_text


class FilesAndMirrors(MirrorStage):
    """A file source over a real path, PodManager, MirrorKeeper and an API server in memory."""

    def __init__(self, store: ApiStore, path: Path, *, clear_on_missing: bool) -> None:
        self._path = path
        self._clear_on_missing = clear_on_missing
        super().__init__(store, (FILE,))

    @override
    def _actors(self) -> tuple[StagedActor, ...]:
        memory, watches = FileMemory(), FakeDirectoryWatches()
        rules = FileSourceRules(
            path=self._path,
            check_frequency=SCAN,
            clear_on_missing=self._clear_on_missing,
            manifests=ManifestRules(node_name=NODE, source=FILE),
        )

        def make_source(play: Stage) -> FileSource:
            pod_manager = play.port(POD_MANAGER)
            return FileSource(rules, pod_manager, memory, watches)

        return (*super()._actors(), (FILE_SOURCE, make_source))


@contextmanager
def one_life(
    store: ApiStore, path: Path, *, clear_on_missing: bool = False
) -> Iterator[FilesAndMirrors]:
    """Start an agent that knows nothing but the Node, and let it do what there is to do."""
    stage = FilesAndMirrors(store, path, clear_on_missing=clear_on_missing)
    try:
        stage.says_of_node(uid=NodeUid(store.get("nodes", NODE)["metadata"]["uid"]))
        stage.watches()
        stage.advance(60.0)
        yield stage
        stage.check()
    finally:
        stage.play.stop()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a directory with two manifests."""
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "web.yaml").write_text(pod_text("web"))
    (path / "shop.yaml").write_text(pod_text("shop"))
    return path


@pytest.fixture
def store(path: Path) -> ApiStore:
    """Return the API server as an earlier life of the agent left it, which had that directory."""
    store = ApiStore()
    store.add({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {}})
    with one_life(store, path) as stage:
        assert sorted(stage.asked()) == ["POST shop-n1", "POST web-n1"]
    return store


def test_mirrors_outlive_a_restart_that_comes_before_the_manifest_path(
    store: ApiStore, path: Path
) -> None:
    elsewhere = path.rename(path.with_name("elsewhere"))
    with one_life(store, path) as stage:
        assert len(stage.mirrors()) == 2
        stage.asked()

        # A late mount: what is there is right, and what is not was removed meanwhile.
        (elsewhere / "shop.yaml").unlink()
        elsewhere.rename(path)
        stage.advance(60.0)
        assert stage.asked() == ["DELETE shop-n1"]
        assert len(stage.mirrors()) == 1


def test_an_empty_directory_is_there(store: ApiStore, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    with one_life(store, path) as stage:
        stage.asked()
        path.mkdir()
        stage.advance(60.0)
        assert sorted(stage.asked()) == ["DELETE shop-n1", "DELETE web-n1"]


def test_rule_f4_asked_to_it_takes_the_mirrors_along_with_the_path(
    store: ApiStore, path: Path
) -> None:
    path.rename(path.with_name("elsewhere"))
    with one_life(store, path, clear_on_missing=True) as stage:
        assert sorted(stage.asked()) == ["DELETE shop-n1", "DELETE web-n1"]
