from collections.abc import Iterator

import pytest

from kernel import Runtime
from tests.support.services.service_stage import ServiceStage, service_stage


@pytest.fixture
def services(runtime: Runtime) -> Iterator[ServiceStage]:
    with service_stage(runtime) as services:
        yield services
