"""Each signal that a manifest may name is one that runtimes know."""

from __future__ import annotations

import pytest

from manifests.validation.probes import STOP_SIGNALS
from runtimes.cri.configs.stop_signals import stop_signal


@pytest.mark.parametrize("name", sorted(STOP_SIGNALS))
def test_a_signal_that_a_manifest_may_name_is_known_to_runtimes(name: str) -> None:
    assert stop_signal({"lifecycle": {"stopSignal": name}}).startswith("SIG")
