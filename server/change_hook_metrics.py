"""Metrics of what is done about changes of Secrets and ConfigMaps. A kubelet does nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import Metric

from messages.change_hooks import ChangeHooksDescribed, HookResult
from messages.objects import ChangeAction
from server.families import counter, gauge


def change_hook_metrics(hooks: ChangeHooksDescribed) -> Iterable[Metric]:
    """Yield what came of change hooks, and how many containers wait for their turn."""
    yield counter(
        "actorlet_change_hooks",
        "Actions about changes of Secrets and ConfigMaps, by what came of them.",
        ("action", "result"),
        {
            (action.value, result.value): hooks.counts.get((action, result), 0)
            for action in ChangeAction
            for result in HookResult
        },
    )
    yield gauge(
        "actorlet_rollouts_waiting",
        "Containers that wait until others of their rollout group run again.",
        (),
        {(): hooks.waiting},
    )
