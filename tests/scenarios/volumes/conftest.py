from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel import Runtime
from tests.support.volumes.token_stage import TokenStage, token_stage
from tests.support.volumes.volume_stage import VolumeStage, volume_stage


@pytest.fixture
def tokens(runtime: Runtime) -> Iterator[TokenStage]:
    with token_stage(runtime) as tokens:
        yield tokens


@pytest.fixture
def volumes(tmp_path: Path) -> Iterator[VolumeStage]:
    """Return a stage whose agent may mount nothing, so that everything is in plain directories."""
    with volume_stage(tmp_path) as stage:
        yield stage
