"""What tests of credentials share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kube.kubeconfigs import Kubeconfig, no_proxies


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubeconfig:
    no_proxies(monkeypatch)
    return Kubeconfig(tmp_path)
