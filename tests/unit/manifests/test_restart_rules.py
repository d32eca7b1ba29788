"""Which containers are started again after they exited."""

from __future__ import annotations

from typing import Any

import pytest

from manifests.restart_rules import (
    AfterExit,
    behaviour_of,
    is_restarted,
    is_sidecar,
    restarts_all,
)

ENDED, RESTART, RESTART_ALL = AfterExit.ENDED, AfterExit.RESTART, AfterExit.RESTART_ALL


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


def acting(action: str, operator: str, *values: int) -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


@pytest.mark.parametrize(
    ("document", "pod_policy", "code", "expected"),
    [
        ({}, "Always", 0, RESTART),
        ({}, "OnFailure", 0, ENDED),
        ({}, "OnFailure", 1, RESTART),
        ({}, "Never", 1, ENDED),
        ({}, "OnFailure", None, RESTART),
        ({"restartPolicy": "Never"}, "Always", 1, ENDED),
        ({"restartPolicy": "Always"}, "Never", 0, RESTART),
        ({"restartPolicyRules": [acting("Restart", "In", 42)]}, "Never", 42, RESTART),
        ({"restartPolicyRules": [acting("Restart", "In", 42)]}, "Never", 41, ENDED),
        ({"restartPolicyRules": [acting("Restart", "NotIn", 42)]}, "Never", 41, RESTART),
        ({"restartPolicyRules": [acting("Restart", "NotIn", 42)]}, "Never", 42, ENDED),
        (
            {"restartPolicyRules": [acting("RestartAllContainers", "In", 7)]},
            "Never",
            7,
            RESTART_ALL,
        ),
        (
            {
                "restartPolicyRules": [
                    acting("Restart", "In", 7),
                    acting("RestartAllContainers", "In", 7),
                ]
            },
            "Never",
            7,
            RESTART,
        ),
        ({"restartPolicyRules": [{}]}, "Never", 7, ENDED),
    ],
)
def test_what_follows_an_exit(
    document: dict[str, Any], pod_policy: str, code: int | None, expected: AfterExit
) -> None:
    assert behaviour_of(document, pod_policy).after(code) is expected


def test_any_container_may_restart_all() -> None:
    rules = [acting("RestartAllContainers", "In", 7)]
    assert restarts_all([{}, {"restartPolicy": "Never", "restartPolicyRules": rules}])
    assert not restarts_all([{}, {"restartPolicyRules": [acting("Restart", "In", 7)]}])


def test_a_sidecar_with_rules_is_a_sidecar() -> None:
    rules = [acting("RestartAllContainers", "In", 7)]
    assert is_sidecar({"restartPolicy": "Always", "restartPolicyRules": rules})
