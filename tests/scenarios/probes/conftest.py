from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.probes.keeper_stage import ProbesStage, probes_stage


@pytest.fixture
def probes(runtime: Runtime) -> Iterator[ProbesStage]:
    with probes_stage(runtime) as probes:
        yield probes
