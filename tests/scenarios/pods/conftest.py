from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.pods.pod_manager_stage import PodManagerStage, pod_manager_stage


@pytest.fixture
def manager(runtime: Runtime) -> Iterator[PodManagerStage]:
    with pod_manager_stage(runtime) as manager:
        yield manager
