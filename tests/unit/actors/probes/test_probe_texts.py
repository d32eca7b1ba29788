"""What is shown of the answers of probes, and what of them can be carried out from outside alone."""

from __future__ import annotations

from typing import Any

import pytest

from actors.probes.specs import probe_of
from actors.probes.texts import WITHHELD, cannot_run, in_public, outcome_of_command
from actors.probes.watching import ProbeTarget, RunProbe
from messages.container_runtime import ContainerLog
from messages.pods import PodUid
from messages.probing import ProbeKey, ProbeKind, ProbeOutcome, ProbeResult
from messages.units import Timestamp
from tests.support.kernel.probe import Probe


def wish(probe: dict[str, Any], ip: str = "") -> RunProbe:
    spec = probe_of({"name": "main", "livenessProbe": probe}, ProbeKind.LIVENESS)
    assert spec is not None
    return RunProbe(
        key=ProbeKey(PodUid("u1"), "main", ProbeKind.LIVENESS),
        spec=spec,
        target=ProbeTarget("c1", ip, Timestamp(0.0)),
        reply_to=Probe(),
    )


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [((), "a b"), (("b",), "a [hidden]"), (None, WITHHELD)],
)
def test_nobody_reads_what_is_hidden(hidden: tuple[str, ...] | None, shown: str) -> None:
    outcome = ProbeOutcome(ProbeResult.FAILURE, "a b")
    assert in_public(outcome, hidden) == ProbeOutcome(ProbeResult.FAILURE, shown)
    assert in_public(ProbeOutcome(ProbeResult.SUCCESS), hidden).text == ""


def test_an_answer_to_another_question_says_nothing() -> None:
    assert outcome_of_command(ContainerLog(lines=())).result is ProbeResult.UNKNOWN


@pytest.mark.parametrize(
    ("probe", "ip", "why"),
    [
        ({"exec": {"command": ["true"]}}, "10.0.0.1", "nobody runs commands"),
        ({"httpGet": {"port": 80}}, "10.0.0.1", ""),
        ({"httpGet": {"port": 80}}, "", "nobody tells the pod's address"),
        ({"httpGet": {"port": 80, "host": "example.org"}}, "", ""),
        ({"tcpSocket": {"port": 80}}, "", "nobody tells the pod's address"),
        ({"tcpSocket": {"port": 80, "host": "example.org"}}, "", ""),
        ({"grpc": {"port": 80}}, "", "nobody tells the pod's address"),
        ({"grpc": {"port": 80}}, "10.0.0.1", ""),
    ],
)
def test_without_commands_and_addresses_some_probes_cannot_be_carried_out(
    probe: dict[str, Any], ip: str, why: str
) -> None:
    said = cannot_run(wish(probe, ip))
    assert said.startswith(why)
    assert bool(said) is bool(why)
