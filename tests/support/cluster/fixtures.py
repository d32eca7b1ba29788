"""Fixtures that give tests an API server: a real one, or each of those that a contract is held to.

Tests of the real one are marked ``cluster`` and leave no objects behind that others could trip over. When
tests run in several processes, all of these run in one that starts it for the first of them; tests that
stop it (``STOPS_IT``) run in another process, with one of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.support.apiserver.subjects import (
    Subject,
    WatchedSubject,
    behind_a_socket,
    in_memory,
    real,
)
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.processes import assets

WHY_SKIPPED = "runs when KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd"
REAL = pytest.param("real", marks=[pytest.mark.cluster, pytest.mark.timeout(120)])
"""The first one waits until it has started."""
STOPS_IT = pytest.mark.xdist_group("outages")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of the real API server in one process, those that stop it in another."""
    for item in items:
        if item.get_closest_marker("cluster") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return the running API server; skip where there is none."""
    programs = assets()
    if programs is None:
        pytest.skip(WHY_SKIPPED)
    cluster = Cluster(programs, tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def the_cluster_is_well(request: pytest.FixtureRequest) -> None:
    """See that the API server is well when a test of it begins."""
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").heal()


@pytest.fixture(params=["in-memory", "http", REAL])
def api_server(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Return an API server without objects: each test is held to all of them."""
    if request.param == "in-memory":
        yield in_memory()
    else:
        with _over_http(request) as subject:
            yield subject


@pytest.fixture(params=["http", REAL])
def watched(request: pytest.FixtureRequest) -> Iterator[WatchedSubject]:
    """Return an API server without objects that can be watched."""
    with _over_http(request) as subject:
        yield subject


def _over_http(request: pytest.FixtureRequest) -> AbstractContextManager[WatchedSubject]:
    if request.param == "http":
        return behind_a_socket()
    cluster: Cluster = request.getfixturevalue("cluster")
    cluster.heal()
    return real(cluster)
