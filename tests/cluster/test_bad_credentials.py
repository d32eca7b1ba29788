"""Kubeconfigs with mistakes in them: one sentence each, nothing secret, no restart once it is mended."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.process import eventually
from tests.support.apiserver.users import NODE, token_of
from tests.support.cluster.cluster import Cluster
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

CANARY = "canary-3f9c7b"
"""Part of each token that is wrong: nobody may see it."""
PAGES = ("/readyz?verbose", "/metrics", "/configz", "/sourcez", "/actorz", "/healthz?verbose")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a kubeconfig, and what the agent has to say about it."""

    make: Callable[[dict[str, Any], Path], str | None]
    """Returns the text of the kubeconfig, given the right one and a folder for more files. None: there
    is to be none."""
    said: tuple[str, ...]
    names_server: bool = True


def missing_context(right: dict[str, Any], _folder: Path) -> str:
    return json.dumps({**right, "current-context": "elsewhere"})


def malformed(_right: dict[str, Any], _folder: Path) -> str:
    return f"apiVersion: v1\nusers:\n- user: {{token: {CANARY}\nclusters: [\n"


def missing(_right: dict[str, Any], _folder: Path) -> None:
    return None


def nothing(_right: dict[str, Any], _folder: Path) -> str:
    return ""


def wrong_authority(right: dict[str, Any], folder: Path) -> str:
    trustme.CA().cert_pem.write_to_path(folder / "other-ca.pem")
    right["clusters"][0]["cluster"]["certificate-authority"] = str(folder / "other-ca.pem")
    return json.dumps(right)


def wrong_port(right: dict[str, Any], _folder: Path) -> str:
    (port,) = free_ports(1)
    right["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    return json.dumps(right)


def wrong_token(right: dict[str, Any], _folder: Path) -> str:
    right["users"][0]["user"] = {"token": CANARY}
    return json.dumps(right)


def expired_certificate(right: dict[str, Any], folder: Path) -> str:
    issued = trustme.CA().issue_cert(
        "client.example", common_name=NODE, not_after=datetime(2021, 1, 1, tzinfo=UTC)
    )
    issued.private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
    identity = {"client-certificate": "client.pem", "client-key": "client.pem"}
    right["users"][0]["user"] = identity
    return json.dumps(right)


MISTAKES = {
    "missing": Mistake(missing, ("cannot be read: no such file",), names_server=False),
    "empty": Mistake(nothing, ("is empty or no kubeconfig",), names_server=False),
    "malformed": Mistake(malformed, ("is not YAML",), names_server=False),
    "unknown context": Mistake(
        missing_context, ("has no context", "elsewhere"), names_server=False
    ),
    "expired certificate": Mistake(expired_certificate, ("expired",), names_server=False),
    "wrong authority": Mistake(wrong_authority, ("signed by an unknown authority",)),
    "nobody there": Mistake(wrong_port, ("connection refused",)),
    "wrong token": Mistake(wrong_token, ("unauthorized",)),
}


def write(path: Path, text: str | None) -> None:
    """Put ``text`` in place in one step, or take the file away."""
    path.unlink(missing_ok=True)
    if text is not None:
        beside = path.with_suffix(".new")
        beside.write_text(text)
        beside.replace(path)


def everything_shown(agent: JoinedAgent) -> str:
    """Return all that anybody can get to see of the agent."""
    return "\n".join([agent.log(), *(agent.get(path)[1] for path in PAGES)])


def complaints(agent: JoinedAgent, sentence: str) -> list[str]:
    """Return the lines of the log in which calls fail for this reason."""
    lines = agent.log().splitlines()
    return [line for line in lines if "calls to the API server fail" in line and sentence in line]


@pytest.fixture
def right(cluster: Cluster) -> dict[str, Any]:
    """Return the right kubeconfig."""
    document: dict[str, Any] = json.loads(cluster.kubeconfig().read_text())
    return document


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence_and_is_over_as_soon_as_it_is_mended(
    agent: JoinedAgent, onlooker: Onlooker, right: dict[str, Any], mistake: Mistake
) -> None:
    good = json.dumps(right)
    write(agent.kubeconfig, mistake.make(right, agent.kubeconfig.parent))
    agent.serve("web")
    agent.start_on_manifests()
    trouble = agent.complains(*mistake.said)
    assert str(agent.kubeconfig) in trouble or "https://127.0.0.1:" in trouble
    assert ("as system:node:n1" in trouble) is mistake.names_server
    eventually(lambda: complaints(agent, mistake.said[0]))

    # The static side knows nothing of it.
    agent.serve("db")
    eventually(lambda: {*agent.pods()} == {"web-n1", "db-n1"})
    assert len(complaints(agent, mistake.said[0])) == 1
    assert CANARY not in everything_shown(agent)
    assert "Traceback" not in agent.log()

    write(agent.kubeconfig, good)
    eventually(lambda: {*onlooker.mirrors()} == {"web-n1", "db-n1"})
    eventually(lambda: not agent.trouble())
    shown = everything_shown(agent)
    assert CANARY not in shown
    assert token_of(NODE) not in shown
