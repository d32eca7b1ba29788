from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.pod_lives.lives_stage import LivesStage, lives_stage


@pytest.fixture
def lives(runtime: Runtime) -> Iterator[LivesStage]:
    with lives_stage(runtime) as lives:
        yield lives
