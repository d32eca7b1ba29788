"""What the tests of files share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.files.manifest_files import Observer


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that another user can enter, which ``tmp_path`` is not."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
