"""A thousand Secrets and ConfigMaps, each watched for itself, at an API server that dies in the middle.

One agent for all stories. Values are nowhere to be seen, however much goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.agent.event_stream import EventLog
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_crowd import Crowd, Meter
from tests.support.agent.joined_objects import (
    add_all,
    eavesdropping,
    edit,
    make_anew,
    remove_all,
    secret,
    wipe_objects,
)
from tests.support.agent.process import eventually
from tests.support.cluster.cluster import Cluster
from tests.support.cluster.fixtures import STOPS_IT
from tests.support.patience import PATIENCE

pytestmark = [pytest.mark.cluster, STOPS_IT, pytest.mark.timeout(120)]

MOST_REQUESTS = 2500.0
"""A second."""
MOST_CONNECTIONS = 13
"""1,000 objects at 95 streams on a connection, and what else is watched and asked."""
MOST_THREADS = 40

EDITED, REMOVED, REMADE = (slice(0, 20), slice(20, 30), slice(30, 40))


@pytest.fixture(scope="module")
def gathered(running: JoinedAgent, cluster: Cluster) -> Iterator[Crowd]:
    """Return an agent that watches a thousand objects."""
    onlooker = Onlooker(cluster.admin)
    crowd = Crowd(running, onlooker)
    crowd.gather()
    yield crowd
    onlooker.wipe("pods")
    wipe_objects(onlooker)


@pytest.fixture
def crowd(gathered: Crowd, cluster: Cluster) -> Iterator[Crowd]:
    """Return it with all objects there and watched; the API server runs afterwards, whatever happens."""
    gathered.is_current_within(PATIENCE)
    yield gathered
    cluster.bring_back()


def dies(cluster: Cluster) -> None:
    cluster.stop_api_server()


def dies_and_its_past_is_forgotten(cluster: Cluster) -> None:
    cluster.compact()
    cluster.stop_api_server()


def edit_all(crowd: Crowd, names: list[str], text: str) -> list[str]:
    """Edit Secrets; return the versions that they have since."""
    edited = [edit(crowd.onlooker, name, f"{text} of {name}") for name in names]
    return [each["metadata"]["resourceVersion"] for each in edited]


def stories(told: EventLog, names: list[str]) -> set[tuple[str, ...]]:
    """Return what happened to Secrets, as far as it differs from one to the other."""
    return {tuple(change for change, _ in told.story("Secret", name)) for name in names}


def told_of(told: EventLog) -> set[str]:
    return {each["name"] for each in told.changes()}


def test_a_thousand_objects_are_watched_over_a_few_connections_and_threads(crowd: Crowd) -> None:
    print(f"synced after {crowd.took:.1f} s")  # noqa: T201  # for people
    assert crowd.took < PATIENCE
    assert eventually(crowd.agent.connections) <= MOST_CONNECTIONS
    assert crowd.threads() <= MOST_THREADS
    eventually(lambda: crowd.watchers() == 1000)


def test_each_change_of_fifty_objects_is_told_once_and_in_order(crowd: Crowd) -> None:
    names = crowd.names[:50]
    with eavesdropping(crowd.agent) as told:
        first, second = (edit_all(crowd, names, text) for text in ("first", "second"))
        eventually(lambda: len(told.changes()) >= 100)
    versions = {
        name: [each["resourceVersion"] for each in told.of("Secret", name)] for name in names
    }
    wanted = zip(names, first, second, strict=True)
    assert versions == {name: [one, other] for name, one, other in wanted}
    assert len(told.changes()) == 100


@pytest.mark.parametrize("ends", [dies, dies_and_its_past_is_forgotten])
def test_an_api_server_that_was_away_is_watched_as_before_and_nothing_is_lost_or_doubled(
    crowd: Crowd, cluster: Cluster, ends: Callable[[Cluster], None]
) -> None:
    onlooker, meter = crowd.onlooker, Meter(crowd.agent)
    edited, removed, remade = (crowd.names[part] for part in (EDITED, REMOVED, REMADE))
    gone = crowd.gone()
    with eavesdropping(crowd.agent) as told:
        with meter.counting():
            ends(cluster)
            eventually(lambda: crowd.agent.streams() == 0)
            cluster.start_api_server()
            # Before the agent is back.
            edit_all(crowd, edited, ends.__name__)
            remove_all(onlooker, removed)
            made = [make_anew(onlooker, secret(name)) for name in remade]
            (back,) = eventually(lambda: [crowd.agent.streams()])
            took = crowd.is_current_within(PATIENCE)
        report = f"{back} streams back after the changes, all {took:.1f} s later; "
        print(f"{report}{meter.peak():.0f} requests/s at the peak")  # noqa: T201  # for people
        assert meter.peak() <= MOST_REQUESTS
        eventually(lambda: told_of(told) == {*edited, *removed, *remade})
        eventually(lambda: stories(told, edited) == {("modified",)})
        eventually(lambda: stories(told, removed) == {("deleted",)})
        eventually(lambda: stories(told, remade) <= {("modified",), ("deleted", "added")})
        last = [told.of("Secret", name)[-1]["uid"] for name in remade]
        assert last == [each["metadata"]["uid"] for each in made]
        eventually(lambda: crowd.gone() > gone)
        eventually(lambda: crowd.watchers() == 1000)

        # And it goes on.
        add_all(onlooker, map(secret, removed))
        eventually(lambda: stories(told, removed) == {("deleted", "added")})


def test_an_agent_that_was_killed_watches_as_before_and_leaves_nothing_open(crowd: Crowd) -> None:
    pods = eventually(lambda: {*crowd.agent.pods()})
    crowd.agent.dies()
    eventually(lambda: crowd.watchers() == 0)
    crowd.agent.joins()
    took = crowd.is_current_within(PATIENCE)
    print(f"synced {took:.1f} s after it had joined")  # noqa: T201  # for people
    eventually(lambda: {*crowd.agent.pods()} == pods)
    eventually(lambda: crowd.watchers() == 1000)
    with eavesdropping(crowd.agent) as told:
        edit_all(crowd, crowd.names[:10], "after its death")
        eventually(lambda: stories(told, crowd.names[:10]) == {("modified",)})
