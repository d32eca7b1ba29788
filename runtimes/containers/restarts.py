"""Whether a container that exited is to run again: restart policies and their rules. Pure.

Since Kubernetes 1.34 a container may have a restart policy of its own, and rules by exit code before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from messages.pods import JsonObject

ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
"""``restartPolicy``, as the API names it."""

UNKNOWN_EXIT_CODE: Final = 137
"""Of a container whose exit code nobody knows, as kubelets report it."""


class AfterExit(Enum):
    """What follows the exit of a container."""

    ENDED = auto()
    """Nothing: it has ended for good."""
    RESTART = auto()
    RESTART_ALL = auto()
    """All containers of the pod end and start again, beginning with the init containers."""


@dataclass(frozen=True, slots=True)
class RestartRule:
    """One of ``restartPolicyRules``."""

    action: AfterExit
    is_negated: bool
    exit_codes: frozenset[int]

    def matches(self, exit_code: int) -> bool:
        """Return whether the rule is about this exit code."""
        return (exit_code in self.exit_codes) is not self.is_negated


@dataclass(frozen=True, slots=True)
class RestartBehaviour:
    """How a container behaves after its exits."""

    policy: str
    rules: tuple[RestartRule, ...] = ()

    def after(self, exit_code: int | None) -> AfterExit:
        """Return what follows an exit with this code. The first rule that matches it decides."""
        code = UNKNOWN_EXIT_CODE if exit_code is None else exit_code
        for rule in self.rules:
            if rule.matches(code):
                return rule.action
        if self.policy == NEVER or (self.policy == ON_FAILURE and code == 0):
            return AfterExit.ENDED
        return AfterExit.RESTART

    @property
    def restarts_all(self) -> bool:
        """Whether an exit may restart all containers of the pod."""
        return any(rule.action is AfterExit.RESTART_ALL for rule in self.rules)


_BEHAVIOURS = {policy: RestartBehaviour(policy) for policy in (ALWAYS, ON_FAILURE, NEVER)}
_ACTIONS = {"Restart": AfterExit.RESTART, "RestartAllContainers": AfterExit.RESTART_ALL}


def behaviour_of(container: JsonObject, pod_policy: str) -> RestartBehaviour:
    """Return how ``container`` behaves in a pod with this restart policy."""
    policy = container.get("restartPolicy") or pod_policy
    rules = tuple(_rule(rule) for rule in container.get("restartPolicyRules") or ())
    if not rules and policy in _BEHAVIOURS:
        return _BEHAVIOURS[policy]
    return RestartBehaviour(policy, rules)


def _rule(rule: JsonObject) -> RestartRule:
    exit_codes = rule.get("exitCodes") or {}
    return RestartRule(
        _ACTIONS.get(rule.get("action") or "", AfterExit.RESTART),
        exit_codes.get("operator") == "NotIn",
        # Without exit codes it would be about every exit. API servers refuse such a rule.
        frozenset(exit_codes.get("values") or ()),
    )
