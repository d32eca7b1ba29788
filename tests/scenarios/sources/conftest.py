"""What the stories of sources have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel import Runtime
from tests.support.sources.file_source_stage import FileSourceStage, file_source_stage
from tests.support.sources.http_source_stage import HttpSourceStage, http_source_stage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an empty directory of manifests."""
    path = tmp_path / "manifests"
    path.mkdir()
    return path


@pytest.fixture
def files(runtime: Runtime, path: Path) -> Iterator[FileSourceStage]:
    """Return the source over an empty directory, whose first listing nobody has looked at."""
    with file_source_stage(path, runtime) as files:
        yield files


@pytest.fixture
def source() -> Iterator[HttpSourceStage]:
    """Return the source of a URL that answered its first request with an empty list."""
    with http_source_stage() as source:
        assert source.listings() == [[]]
        yield source
