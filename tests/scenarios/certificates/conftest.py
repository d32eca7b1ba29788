from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates.certificate_stage import CertificateStage, certificate_stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[CertificateStage]:
    with certificate_stage(tmp_path) as stage:
        yield stage
