from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.access.reviewer_stage import ReviewerStage, reviewer_stage


@pytest.fixture
def reviewer(runtime: Runtime) -> Iterator[ReviewerStage]:
    with reviewer_stage(runtime) as reviewer:
        yield reviewer
