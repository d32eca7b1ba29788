from collections.abc import Iterator

import pytest

from tests.support.apiserver.store import ApiStore
from tests.support.mirrors.mirror_stage import MirrorStage, mirror_stage


@pytest.fixture
def stage() -> Iterator[MirrorStage]:
    """Return a stage on which the Node is registered and nothing is served yet."""
    with mirror_stage() as stage:
        stage.joins()
        yield stage


@pytest.fixture
def strict() -> Iterator[MirrorStage]:
    """Return a stage whose API server shows a node its own pods only, as since 1.32."""
    with mirror_stage(store=ApiStore(strict_nodes=True)) as stage:
        stage.joins()
        yield stage
