"""What the tests of faults begin with: pods as real containers, and a runtime that drives them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.containers.containerd import Containerd
from tests.support.runtimes.cri_pods import CriPods
from tests.support.runtimes.cri_stage import cri_stage


@pytest.fixture
def pods(containerd: Containerd) -> Iterator[CriPods]:
    """Return somebody who commands pods on real containers."""
    with cri_stage(containerd, with_pods=True) as stage:
        yield CriPods(stage)
