from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.volumes.token_stage import TokenStage, token_stage


@pytest.fixture
def tokens(runtime: Runtime) -> Iterator[TokenStage]:
    with token_stage(runtime) as tokens:
        yield tokens
