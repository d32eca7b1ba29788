"""Which containers are started again after they exited."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.restart_rules import is_restarted, is_sidecar


@pytest.mark.parametrize(
    ("own", "pods", "code", "again"),
    [
        ("", "Always", 0, True),
        ("", "", 1, True),
        ("", "OnFailure", 0, False),
        ("", "OnFailure", 1, True),
        ("", "Never", 1, False),
        ("Always", "Never", 0, True),
        ("Never", "Always", 1, False),
        ("OnFailure", "Never", 137, True),
    ],
)
def test_a_containers_own_policy_is_stronger_than_its_pods(
    own: str, pods: str, code: int, *, again: bool
) -> None:
    assert is_restarted({"restartPolicy": own}, pods, code) is again


def rule(operator: str, *values: int) -> dict[str, Any]:
    return {"action": "Restart", "exitCodes": {"operator": operator, "values": list(values)}}


@pytest.mark.parametrize(
    ("rules", "code", "again"),
    [
        ([rule("In", 42, 43)], 43, True),
        ([rule("In", 42)], 1, False),
        ([rule("NotIn", 42)], 1, True),
        ([rule("NotIn", 42)], 42, False),
        ([rule("In", 1), rule("In", 2)], 2, True),
        ([rule("Unknown", 1)], 1, False),
        ([{"action": "Restart"}], 1, False),
    ],
)
def test_a_rule_that_matches_is_stronger_than_any_policy(
    rules: list[dict[str, Any]], code: int, *, again: bool
) -> None:
    container = {"restartPolicy": "Never", "restartPolicyRules": rules}
    assert is_restarted(container, "Never", code) is again


def test_an_init_container_that_is_always_restarted_is_a_sidecar() -> None:
    assert is_sidecar({"restartPolicy": "Always"})
    assert not is_sidecar({"restartPolicy": "OnFailure"})
    assert not is_sidecar({})
