"""People are shown the actors of the table, in its order, each below its supervisor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from agent.tree import ACTORS
from command.subcommands.actors import sheet
from kube.streams.actor import Watches
from server.documents import actors
from tests.environment.node import Node, Sources
from tests.environment.outside import Outside
from tests.environment.runtimes.containers import InContainers
from tests.environment.runtimes.hollow import Hollow
from tests.environment.runtimes.provider import Provided
from tests.environment.runtimes.runtime import Runtime
from tests.support.agent.table import Line, lines
from tests.support.apiserver.store_edges import StoreWatches
from tests.support.cri.fake_wire import FAKE_CRI

ALL: Final = Sources(url=True, directory=True, cluster=True, objects=True)
ONLY_CLUSTER: Final = Sources(url=False, cluster=True)
CLUSTER: Final = "only in a cluster member"
URL: Final = "with --manifest-url"
KEPT: Final = "not for hollow pods, unless they have records"
FILES: Final = {"with --pod-manifest-path", "with --local-objects-dir"}
CRI: Final = {"with --runtime cri", "where pods have volumes", KEPT}
PROVIDER: Final = {"with --runtime MODULE:CLASS", KEPT}
HOLLOW: Final = {"with --runtime hollow"}
RECORDS: Final = {"with --hollow-records", KEPT}

STAND_INS: Final = {StoreWatches.__name__: Watches.__name__}

Made = Callable[[Outside], Runtime]


def hollow(outside: Outside) -> Runtime:
    return Hollow(outside, keeps_records=False)


def recorded(outside: Outside) -> Runtime:
    return Hollow(outside, keeps_records=True)


def provided(outside: Outside) -> Runtime:
    return Provided(outside, is_able=True)


def there(conditions: set[str]) -> Iterator[Line]:
    """Yield the lines of what an agent has on these conditions."""
    missing = math.inf
    for line in lines(ACTORS):
        if line.depth <= missing:
            missing = math.inf if line.whens <= conditions else line.depth
        if missing == math.inf:
            yield line


@pytest.mark.parametrize(
    ("runtime", "sources", "conditions"),
    [
        pytest.param(InContainers, Sources(), {*CRI, URL}, id="containers"),
        pytest.param(InContainers, ALL, {*CRI, *FILES, URL, CLUSTER}, id="containers, with all"),
        pytest.param(hollow, ONLY_CLUSTER, {*HOLLOW, CLUSTER}, id="hollow"),
        pytest.param(recorded, ALL, {*HOLLOW, *RECORDS, *FILES, URL, CLUSTER}, id="records"),
        pytest.param(provided, Sources(), {*PROVIDER, URL}, id="a class"),
    ],
)
def test_the_command_shows_the_actors_of_the_table(
    tmp_path: Path, runtime: Made, sources: Sources, conditions: set[str]
) -> None:
    node = Node(1, tmp_path, runtime, sources)
    described = [each for each in node.play.system.describe() if each.name != FAKE_CRI.path]
    rows = sheet(actors(described)["actors"]).rows
    shown = [(name, STAND_INS.get(type_, type_)) for name, *_, type_, _, _ in rows]
    assert shown == [
        ("  " * each.depth + each.name, each.kind.__name__ if each.kind else "supervisor")
        for each in there(conditions)
    ]
