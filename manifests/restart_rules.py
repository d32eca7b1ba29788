"""Whether a container is started again after it exited: what its specification says of it. Pure.

A container's own rules come first, then its own ``restartPolicy``, then the pod's, as in kubelets since 1.34.
Since 1.35 an exit may also restart all containers of the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

ALWAYS: Final = "Always"
ON_FAILURE: Final = "OnFailure"
NEVER: Final = "Never"

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
    operator: str
    exit_codes: frozenset[int]

    def matches(self, exit_code: int) -> bool:
        """Return whether the rule is about this exit code."""
        match self.operator:
            case "In":
                return exit_code in self.exit_codes
            case "NotIn":
                return exit_code not in self.exit_codes
            case _:
                return False  # validation refuses it


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


def behaviour_of(container: Mapping[str, Any], pod_policy: str) -> RestartBehaviour:
    """Return how ``container`` behaves in a pod with this ``restartPolicy``."""
    policy = container.get("restartPolicy") or pod_policy or ALWAYS
    rules = tuple(_rule(rule) for rule in container.get("restartPolicyRules") or ())
    if not rules and policy in _BEHAVIOURS:
        return _BEHAVIOURS[policy]
    return RestartBehaviour(policy, rules)


def is_restarted(container: Mapping[str, Any], pod_policy: str, exit_code: int) -> bool:
    """Return whether ``container`` is started again after it exited with ``exit_code``.

    Of init containers only those that failed may be asked about, and sidecars: one that succeeded is done.
    """
    return behaviour_of(container, pod_policy).after(exit_code) is not AfterExit.ENDED


def restarts_all(containers: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether an exit of one of these containers may restart all of the pod."""
    return any(behaviour_of(container, "").restarts_all for container in containers)


def is_sidecar(init_container: Mapping[str, Any]) -> bool:
    """Return whether an init container is a restartable one, which runs beside the regular containers."""
    return bool(init_container.get("restartPolicy") == ALWAYS)


def _rule(rule: Mapping[str, Any]) -> RestartRule:
    exit_codes = rule.get("exitCodes") or {}
    return RestartRule(
        _ACTIONS.get(rule.get("action") or "", AfterExit.RESTART),
        exit_codes.get("operator") or "",
        frozenset(exit_codes.get("values") or ()),
    )
