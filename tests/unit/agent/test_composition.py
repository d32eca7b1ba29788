"""What actors of an agent share, and how they find each other."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from actors.node.registrar import NODE_REGISTRAR
from agent.composition import RUNTIME, Composition, Late
from agent.late import cluster
from kernel import Key, Port
from runtimes.provider.actor import PROVIDER_RUNTIME
from settings.command_line import parse
from settings.load import settings_of
from tests.support.agent.composed import composed
from tests.support.kernel.probe import Probe
from tests.support.project.checkout import ROOT


class Addresses:
    """Notes which keys were looked up."""

    def __init__(self) -> None:
        self.keys: list[Key[Any]] = []

    def __call__(self, key: Key[Any], /) -> Port[Any]:
        self.keys.append(key)
        return Probe()


def agent_of(*flags: str, addresses: Addresses | None = None) -> Composition:
    settings = settings_of(parse(flags), (), hostname="node1")
    return composed(settings, addresses or Addresses(), {})


def something(_agent: Composition) -> object:
    return object()


def test_what_actors_share_is_made_once_also_if_it_is_named_before_its_import() -> None:
    agent = agent_of("--runtime=hollow")
    by_name: Any = Late(__name__, something.__name__)
    assert agent.shared(something) is agent.shared(by_name)


def test_a_cluster_member_has_actors_that_an_agent_alone_has_not() -> None:
    alone = agent_of("--runtime=hollow")
    member = agent_of("--runtime=hollow", "--kubeconfig=none")
    assert alone.port_if_any(cluster.NODE_REGISTRAR) is None
    assert member.port_if_any(cluster.NODE_REGISTRAR) is not None
    assert (alone.has(NODE_REGISTRAR), member.has(NODE_REGISTRAR)) == (False, True)


def test_an_actor_is_looked_up_by_the_key_of_the_table_which_says_what_its_mailbox_coalesces() -> (
    None
):
    addresses = Addresses()
    agent = agent_of("--runtime=a_module:AClass", addresses=addresses)
    agent.port(RUNTIME)
    assert [key.coalesce for key in addresses.keys] == [PROVIDER_RUNTIME.coalesce]


def test_the_table_of_actors_imports_neither_the_api_client_nor_grpc() -> None:
    code = "import sys, agent.tree; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert (
        set(found.stdout.split()) & {"agent.cluster", "agent.containers", "pyreqwest", "grpc"}
        == set()
    )
