"""The pages and metrics of pods that run."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from messages.change_hooks import ChangeHooksDescribed, HookResult
from messages.container_logs import ContainerLogsDescribed, LogOwner
from messages.container_runtime_health import (
    PULL_BOUNDS,
    ContainerRuntimeDescribed,
    ImagesDescribed,
    OperationDescribed,
    PlegDescribed,
    PullTimes,
)
from messages.objects import ChangeAction
from messages.pod_lives import (
    PodLife,
    PodLivesDescribed,
    WorkingPod,
)
from messages.pod_manager import PodsDescribed
from messages.pod_runtime import ContainerState, ContainerWait, RuntimeDescribed, RuntimePod
from messages.pods import PodPhase, PodUid
from messages.statuses import (
    SLI_BOUNDS,
    START_BOUNDS,
    SYNC_BOUNDS,
    PodStatus,
    StartLatencies,
    StatusesDescribed,
)
from messages.tokens import TokensDescribed
from messages.units import DURATION_BOUNDS, Seconds, TimesCounted, Timestamp
from server.pod_metrics import RunningState, is_active, pod_metrics
from server.pod_pages import PIECE, pod_list, running_pods
from stores.statuses.status import StatusSituation, status_after
from tests.support.agent.served import NO_PODS
from tests.support.builders import make_pod
from tests.support.pods.observations import exited, observation, running

NOW = Timestamp(1_700_000_000.0)
WEB, JOB = make_pod("web"), make_pod("job", spec={"restartPolicy": "Never"})


def status(pod: Any, *histories: Any) -> PodStatus:
    situation = StatusSituation(
        pod=pod, observed=observation(*histories, uid=pod.uid), now=Timestamp(1_700_000_000.0)
    )
    return status_after(situation)


STATUSES = {WEB.uid: status(WEB, running()), JOB.uid: status(JOB, exited())}
PODS: PodsDescribed = dataclasses.replace(NO_PODS, pods=(WEB, JOB), mirrors=(make_pod("shown"),))


def listed(pods: PodsDescribed, statuses: Any) -> Any:
    return json.loads("".join(pod_list(pods, statuses, NOW)))


def test_a_pod_list_has_the_pods_and_no_mirrors() -> None:
    assert listed(dataclasses.replace(PODS, pods=(WEB,)), {}) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {},
        "items": [WEB.document],
    }


def test_each_pod_of_the_list_has_its_status() -> None:
    items = listed(PODS, STATUSES)["items"]
    assert [item["status"]["phase"] for item in items] == ["Running", "Succeeded"]


def test_conditions_of_others_are_in_the_list_too() -> None:
    gate = {"type": "example.com/gate", "status": "True"}
    pod = make_pod("web", source="api", status={"phase": "Pending", "conditions": [gate]})
    (item,) = listed(dataclasses.replace(PODS, pods=(pod,)), STATUSES)["items"]
    assert gate in item["status"]["conditions"]
    assert item["status"]["phase"] == "Running"


def test_a_long_list_is_made_in_pieces() -> None:
    many = tuple(make_pod(f"web-{number}") for number in range(3 * PIECE + 1))
    pods = dataclasses.replace(PODS, pods=many)
    assert len(list(pod_list(pods, {}, NOW))) == 6
    assert [item["metadata"]["name"] for item in listed(pods, {})["items"]] == [
        pod.name for pod in many
    ]


def runtime_pod(name: str, **fields: Any) -> RuntimePod:
    shown = RuntimePod(
        uid=PodUid(f"uid-default-{name}"),
        namespace="default",
        name=name,
        source="file",
        is_running=True,
    )
    return dataclasses.replace(shown, **fields)


RUNTIME = RuntimeDescribed(
    name="hollow",
    pods=(runtime_pod("web"), runtime_pod("job", is_running=False), runtime_pod("unknown")),
    containers={ContainerState.RUNNING: 2, ContainerState.EXITED: 1},
    starts={"container": 5, "init_container": 1},
    start_errors={("container", "ErrImagePull"): 2},
    sandbox_errors=3,
)


def test_running_pods_are_those_that_the_runtime_runs_wanted_or_not() -> None:
    shown = running_pods(RUNTIME, STATUSES)
    assert [item["metadata"]["name"] for item in shown["items"]] == ["web", "unknown"]
    assert [item["spec"]["containers"] for item in shown["items"]] == [
        [{"name": "main", "image": "registry.example/web:1", "resources": {}}],
        [],
    ]


class Page(Collector):
    def __init__(self, *families: Metric) -> None:
        self.families = families

    @override
    def collect(self) -> tuple[Metric, ...]:
        return self.families


def samples(state: RunningState) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(Page(*pod_metrics(state, PODS)))
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_what_is_not_known_has_no_metrics() -> None:
    assert samples(RunningState()) == {}


def test_pods_and_containers_of_the_runtime_are_counted_by_a_kubelets_names() -> None:
    found = samples(RunningState(runtime=RUNTIME))
    assert found["kubelet_running_pods"] == 2.0
    assert found["kubelet_running_containers running"] == 2.0
    assert found["kubelet_running_containers created"] == 0.0
    assert found["actorlet_runtime_usable hollow"] == 1.0
    assert found["kubelet_started_containers_total container"] == 5.0
    assert found["kubelet_started_containers_total init_container"] == 1.0
    assert found["kubelet_started_containers_errors_total container ErrImagePull"] == 2.0
    assert found["kubelet_started_pods_errors_total"] == 3.0


def test_a_runtime_outside_is_counted_by_a_kubelets_names() -> None:
    calls, looks, none = (
        TimesCounted(bounds=(0.005, 0.0125), buckets=buckets, seconds=seconds)
        for buckets, seconds in (((1, 1, 1), 0.5), ((2, 0, 0), 0.004), ((0, 0, 0), 0.0))
    )
    containers = ContainerRuntimeDescribed(
        name="containerd",
        version="1.6.20",
        endpoint="/run/containerd/containerd.sock",
        trouble="",
        network_trouble="no plugin",
        pleg=PlegDescribed(
            last_seen=Timestamp(1_000.0),
            silence=Seconds(2.0),
            relists=looks,
            intervals=looks,
            streams=2,
            stream_errors=1,
            latencies=none,
        ),
        operations={
            "version": OperationDescribed(errors=0, times=calls),
            "run_podsandbox": OperationDescribed(errors=2, times=calls),
        },
        cgroups={"destroy": looks},
    )
    found = samples(RunningState(containers=containers))
    assert found["kubelet_runtime_operations_total run_podsandbox"] == 3.0
    assert found["kubelet_runtime_operations_errors_total run_podsandbox"] == 2.0
    assert "kubelet_runtime_operations_errors_total version" not in found
    assert found["kubelet_runtime_operations_duration_seconds_count version"] == 3.0
    assert found["kubelet_pleg_relist_duration_seconds_count"] == 2.0
    assert found["kubelet_pleg_relist_interval_seconds_sum"] == 0.004
    assert found["kubelet_pleg_last_seen_seconds"] == 1_000.0
    assert found["kubelet_pleg_discard_events"] == 0.0
    assert found["kubelet_evented_pleg_connection_success_count"] == 2.0
    assert found["kubelet_evented_pleg_connection_error_count"] == 1.0
    assert found["kubelet_evented_pleg_connection_latency_seconds_count"] == 0.0
    assert found["kubelet_cgroup_manager_duration_seconds_count destroy"] == 2.0
    assert found["actorlet_runtime_network_ready"] == 0.0


def test_images_are_counted_by_a_kubelets_names() -> None:
    images = ImagesDescribed(
        pulls={
            "0-10MB": PullTimes(buckets=(2, 1, *(0 for _ in PULL_BOUNDS[1:])), seconds=Seconds(4.5))
        },
        failed_pulls=3,
        pulls_under_way=1,
        pulls_waiting=5,
        removed={"space": 7},
        plugin_errors={"ecr": 2},
    )
    found = samples(RunningState(images=images))
    assert found["kubelet_image_pull_duration_seconds_bucket 0-10MB 1"] == 2.0
    assert found["kubelet_image_pull_duration_seconds_bucket 0-10MB 5"] == 3.0
    assert found["kubelet_image_pull_duration_seconds_count 0-10MB"] == 3.0
    assert found["kubelet_image_pull_duration_seconds_sum 0-10MB"] == 4.5
    assert found["actorlet_image_pulls waiting"] == 5.0
    assert found["actorlet_image_pulls under_way"] == 1.0
    assert found["actorlet_image_pull_errors_total"] == 3.0
    assert found["kubelet_image_garbage_collected_total space"] == 7.0
    assert found["kubelet_image_garbage_collected_total age"] == 0.0
    assert found["kubelet_credential_provider_plugin_errors_total ecr"] == 2.0


def test_tokens_are_counted_by_how_it_is_with_them() -> None:
    tokens = TokensDescribed(states={"there": 3, "pending": 1}, requests={"issued": 5})
    found = samples(RunningState(tokens=tokens))
    assert found["actorlet_service_account_tokens there"] == 3.0
    assert found["actorlet_service_account_tokens trouble"] == 0.0
    assert found["actorlet_service_account_tokens pending"] == 1.0
    assert found["actorlet_service_account_token_requests_total issued"] == 5.0


def test_change_hooks_are_counted_by_what_came_of_them() -> None:
    done = (ChangeAction.SIGNAL, HookResult.DONE)
    found = samples(RunningState(hooks=ChangeHooksDescribed(counts={done: 4}, waiting=2)))
    assert found["actorlet_change_hooks_total signal done"] == 4.0
    assert found["actorlet_change_hooks_total restart failed"] == 0.0
    assert found["actorlet_rollouts_waiting"] == 2.0


def test_logs_are_shown_with_the_room_that_they_take_and_their_rotations() -> None:
    owner = LogOwner(WEB.uid, "shop", "web", "main")
    found = samples(
        RunningState(logs=ContainerLogsDescribed(used_bytes={owner: 20}, rotated=3, failed=1))
    )
    assert found[f"kubelet_container_log_filesystem_used_bytes {WEB.uid} shop web main"] == 20.0
    assert found["actorlet_log_rotations_total rotated"] == 3.0
    assert found["actorlet_log_rotations_total failed"] == 1.0


def test_lives_are_counted_by_a_kubelets_names() -> None:
    lives = PodLivesDescribed(
        lives={WEB.uid: PodLife.SYNC, JOB.uid: PodLife.FINISHED},
        started=7,
        refused={"OutOfcpu": 2},
        restarted_static=3,
        restarted=1,
        preempted=4,
        working={WorkingPod("terminating", "orphan", "true"): 6},
        orphans=8,
        operations={
            "kill": TimesCounted(
                bounds=DURATION_BOUNDS,
                buckets=(0, 2, *(0 for _ in DURATION_BOUNDS[1:])),
                seconds=0.5,
            )
        },
    )
    found = samples(RunningState(lives=lives))
    assert found["kubelet_started_pods_total"] == 7.0
    assert found["kubelet_restarted_pods_total true"] == 3.0
    assert found["kubelet_restarted_pods_total "] == 1.0
    assert found["kubelet_admission_rejections_total OutOfcpu"] == 2.0
    assert found["actorlet_pods_preempted_total"] == 4.0
    assert found["actorlet_pod_lives finished"] == 1.0
    assert found["kubelet_orphaned_runtime_pods_total"] == 8.0
    working = {name: value for name, value in found.items() if name.startswith("kubelet_working")}
    assert len(working) == 15
    assert {name: value for name, value in working.items() if value} == {
        "kubelet_working_pods terminating orphan true": 6.0
    }
    assert found["kubelet_pod_worker_duration_seconds_sum kill"] == 0.5
    assert found["kubelet_pod_worker_duration_seconds_bucket kill 0.01"] == 2.0


def times(bounds: tuple[float, ...]) -> TimesCounted:
    return TimesCounted(bounds=bounds, buckets=(2, *(0 for _ in bounds)), seconds=0.75)


def test_writes_of_statuses_and_starts_of_pods_are_counted() -> None:
    buckets = (0, 3, *(0 for _ in START_BOUNDS[1:]))
    statuses = StatusesDescribed(
        statuses=STATUSES,
        written=5,
        waiting=1,
        refused={"invalid": 2},
        deleted=3,
        starts=TimesCounted(bounds=START_BOUNDS, buckets=buckets, seconds=0.25),
        latencies=StartLatencies(sli={"true": times(SLI_BOUNDS)}, total={"": times(SLI_BOUNDS)}),
        syncs=times(SYNC_BOUNDS),
    )
    found = samples(RunningState(statuses=statuses))
    assert found["actorlet_pod_status_writes_total"] == 5.0
    assert found["actorlet_pod_statuses_waiting"] == 1.0
    assert found["actorlet_pod_status_write_errors_total invalid"] == 2.0
    assert found["actorlet_pods_deleted_total"] == 3.0
    assert found["actorlet_pods Running"] == 1.0
    assert found["actorlet_pods Succeeded"] == 1.0
    assert found["kubelet_pod_start_duration_seconds_count"] == 3.0
    assert found["kubelet_pod_start_duration_seconds_sum"] == 0.25
    assert found["kubelet_pod_start_sli_duration_seconds_bucket true 0.5"] == 2.0
    assert found["kubelet_pod_start_total_duration_seconds_sum "] == 0.75
    assert found["kubelet_pod_status_sync_duration_seconds_bucket 0.01"] == 2.0
    assert found["kubelet_pod_status_sync_duration_seconds_bucket 60"] == 2.0


def test_a_pod_that_ended_here_is_not_active_though_its_source_does_not_know() -> None:
    known = StatusesDescribed(statuses=STATUSES)
    assert (is_active(WEB, known), is_active(JOB, known)) == (True, False)
    assert is_active(JOB, None)


def test_a_pod_that_is_not_ready_and_a_container_that_crashes_are_counted() -> None:
    crashing = dataclasses.replace(exited(code=1), wait=ContainerWait(reason="CrashLoopBackOff"))
    unready = status(WEB, crashing)
    assert unready.phase is PodPhase.RUNNING
    known = StatusesDescribed(statuses={WEB.uid: unready, JOB.uid: STATUSES[JOB.uid]})
    found = samples(RunningState(statuses=known))
    assert found["actorlet_pods_not_ready"] == 1.0
    assert found["actorlet_containers_waiting CrashLoopBackOff"] == 1.0
    well = samples(RunningState(statuses=StatusesDescribed(statuses=STATUSES)))
    assert well["actorlet_containers_waiting CrashLoopBackOff"] == 0.0
