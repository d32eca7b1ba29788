"""Whether a container is started again after it exited: what its specification says of it.

A container's own rules come first, then its own ``restartPolicy``, then the pod's, as in kubelets since 1.34.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ALWAYS: Final = "Always"
ON_FAILURE: Final = "OnFailure"
NEVER: Final = "Never"


def is_sidecar(init_container: Mapping[str, Any]) -> bool:
    """Return whether an init container is a restartable one, which runs beside the regular containers."""
    return bool(init_container.get("restartPolicy") == ALWAYS)


def is_restarted(container: Mapping[str, Any], pod_policy: str, exit_code: int) -> bool:
    """Return whether ``container`` is started again after it exited with ``exit_code``.

    ``pod_policy`` is the ``restartPolicy`` of its pod. Of init containers only those that failed may be
    asked about, and sidecars: one that succeeded is done.
    """
    for rule in container.get("restartPolicyRules") or ():
        if _matches(rule.get("exitCodes") or {}, exit_code):
            return True  # every action that there is restarts it
    policy = container.get("restartPolicy") or pod_policy or ALWAYS
    return policy == ALWAYS or (policy == ON_FAILURE and exit_code != 0)


def _matches(codes: Mapping[str, Any], exit_code: int) -> bool:
    is_listed = exit_code in (codes.get("values") or ())
    match codes.get("operator"):
        case "In":
            return is_listed
        case "NotIn":
            return not is_listed
        case _:
            return False
