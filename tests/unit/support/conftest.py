"""What tests of the fake API server share: probes that are told what it says."""

from __future__ import annotations

import pytest

from messages.api import ApiAnswered
from messages.watches import TargetListed, WatchFact
from tests.support.kernel.probe import Probe


@pytest.fixture
def answers() -> Probe[ApiAnswered]:
    return Probe()


@pytest.fixture
def facts() -> Probe[WatchFact]:
    return Probe()


@pytest.fixture
def lists() -> Probe[TargetListed]:
    return Probe()
