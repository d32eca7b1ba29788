"""Messages that nobody tells again."""

from __future__ import annotations

from typing import Final

from actors.probes.watching import FollowProbes
from files.record_keeper import KeepRecords
from messages.api import CallApi
from messages.container_runtime import AskContainer, CallRuntime, FollowContainers
from messages.holders import HolderIs, LocalObjectsListed, LocalReferencesAre
from messages.node import FollowNode
from messages.objects import FollowObjects, RegisterPod, UnfollowObjects, UnregisterPod
from messages.pod_manager import Subscribe
from messages.pod_runtime import ForgetPod, RunPod, StopPod
from messages.sources import MirrorsJudged, Rescan
from messages.statuses import FollowStatuses, ForgetPodStatus
from messages.watches import Unwatch, Watch

TOLD_ONCE: Final = (
    *(Subscribe, FollowNode, Watch, Unwatch, CallApi, MirrorsJudged, HolderIs, FollowStatuses),
    *(RegisterPod, UnregisterPod, FollowObjects, UnfollowObjects),
    *(LocalObjectsListed, LocalReferencesAre),
    *(RunPod, StopPod, ForgetPod, FollowContainers, KeepRecords, ForgetPodStatus),
    *(FollowProbes, Rescan, CallRuntime, AskContainer),
)
"""Whoever gets one has it in a memory before it does anything else with it."""
