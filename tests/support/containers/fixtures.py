"""Fixtures that give tests a containerd. Each process of the tests has one, from the first test that asks.

It starts in a quarter of a second and has its images in another one, and takes 45 MB: so tests with real
containers are spread over the processes like all others, and each may stop and kill its containerd.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.containers.containerd import Containerd
from tests.support.containers.needs import require

CONTAINERS = (pytest.mark.containers, pytest.mark.timeout(120))
"""What marks a test that needs a containerd. The fixture of that name puts them on by itself."""
REAL = pytest.param("cri", marks=CONTAINERS)
"""The parameter of contracts that are kept with real containers, too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for a containerd."""
    for item in items:
        if "containerd" in getattr(item, "fixturenames", ()):
            for mark in CONTAINERS:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def one_containerd() -> Iterator[Containerd]:
    """Return the containerd of this process; skip where there can be none."""
    require()
    one = Containerd()
    yield one
    one.end()


@pytest.fixture
def containerd(one_containerd: Containerd) -> Iterator[Containerd]:
    """Return a containerd that runs nothing; it is left so, whatever the test did to it."""
    yield one_containerd
    one_containerd.wipe()
