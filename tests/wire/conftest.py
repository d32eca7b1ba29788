"""What wire tests of single calls share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kube.calls_wire import MakeSender, senders


@pytest.fixture
def sender_for() -> Iterator[MakeSender]:
    with senders() as make:
        yield make
