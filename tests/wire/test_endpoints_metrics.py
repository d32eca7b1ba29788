"""The metrics as a scraper reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from settings.version import version
from tests.support.agent.process import eventually, manifest
from tests.support.agent.served import Served, served_agent
from tests.support.wire.client import NotYet

NAMES = {
    "actorlet_change_hooks": "counter",
    "actorlet_rollouts_waiting": "gauge",
    "kubelet_node_name": "gauge",
    "actorlet_build_info": "gauge",
    "actorlet_restart_due": "gauge",
    "kubelet_desired_pods": "gauge",
    "kubelet_active_pods": "gauge",
    "kubelet_mirror_pods": "gauge",
    "kubelet_managed_ephemeral_containers": "gauge",
    "actorlet_shadowed_pods": "gauge",
    "kubelet_running_pods": "gauge",
    "kubelet_running_containers": "gauge",
    "actorlet_runtime_usable": "gauge",
    "kubelet_started_pods": "counter",
    "kubelet_restarted_pods": "counter",
    "kubelet_admission_rejections": "counter",
    "actorlet_pods_preempted": "counter",
    "actorlet_pod_lives": "gauge",
    "kubelet_pod_worker_duration_seconds": "histogram",
    "actorlet_pod_status_writes": "counter",
    "actorlet_pod_status_write_errors": "counter",
    "actorlet_pod_statuses_waiting": "gauge",
    "actorlet_pods_deleted": "counter",
    "kubelet_pod_start_duration_seconds": "histogram",
    "actorlet_pods": "gauge",
    "actorlet_pods_not_ready": "gauge",
    "actorlet_containers_waiting": "gauge",
    "actorlet_source_ready": "gauge",
    "actorlet_source_last_listed_timestamp_seconds": "gauge",
    "actorlet_manifest_verdicts": "gauge",
    "actorlet_manifest_rejected": "counter",
    "actorlet_objects": "gauge",
    "actorlet_object_references": "gauge",
    "actorlet_object_changes": "counter",
    "actorlet_object_decisions": "counter",
    "actorlet_object_reads": "counter",
    "actorlet_event_readers": "gauge",
    "actorlet_event_readers_dropped": "counter",
    "actorlet_actors": "gauge",
    "actorlet_mailbox_depth": "gauge",
    "actorlet_messages_handled": "counter",
    "actorlet_actor_restarts": "counter",
    "actorlet_dead_letters": "counter",
    "actorlet_message_seconds": "histogram",
}


def scrape(agent: Served) -> dict[str, Metric]:
    """Return the metric families by name."""
    answer = agent.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def values(agent: Served, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of one family by those of its labels; raises ``NotYet`` when nobody says them."""
    family = scrape(agent).get(name)
    if family is None:
        raise NotYet(f"there is no {name}")
    return {tuple(s.labels.values()): s.value for s in family.samples}


def counters(agent: Served) -> dict[tuple[str, ...], float]:
    """Return everything that may only grow."""
    families = [f for f in scrape(agent).values() if f.type in {"counter", "histogram"}]
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Served]:
    """Return an agent with a good manifest, a terminal pod and a broken one."""
    (tmp_path / "broken.yaml").write_text("kind: [\n")
    (tmp_path / "web.yaml").write_text(manifest("web"))
    with served_agent(tmp_path, "--enable-chaos") as agent:
        eventually(lambda: agent.get("/pods").document["items"])
        yield agent


def test_the_names_are_those_that_dashboards_know(agent: Served) -> None:
    found = {name: family.type for name, family in scrape(agent).items()}
    assert found.items() >= NAMES.items()
    assert {name for name in found if name not in NAMES and name.startswith("actorlet")} == set()
    assert {"process_resident_memory_bytes", "python_info", "python_gc_collections"} <= set(found)


def test_gauges_are_what_the_actors_say_at_this_moment(agent: Served, tmp_path: Path) -> None:
    assert values(agent, "kubelet_node_name") == {("node1",): 1.0}
    assert values(agent, "actorlet_build_info") == {("", version()): 1.0}
    assert values(agent, "actorlet_restart_due") == {(): 0.0}
    assert values(agent, "kubelet_desired_pods") == {("",): 0.0, ("true",): 1.0}
    assert values(agent, "kubelet_active_pods") == {("",): 0.0, ("true",): 1.0}
    assert values(agent, "actorlet_source_ready") == {("file",): 1.0}
    verdicts = values(agent, "actorlet_manifest_verdicts")
    assert verdicts == {
        ("file", "accepted"): 1.0,
        ("file", "kept"): 0.0,
        ("file", "rejected"): 1.0,
        ("file", "shadowed"): 0.0,
        ("file", "ignored"): 0.0,
    }
    eventually(lambda: values(agent, "kubelet_running_pods") == {(): 1.0})
    assert values(agent, "actorlet_actors") == {
        ("actorlet", "running"): 1.0,
        ("configmap-manager", "running"): 1.0,
        ("event-feed", "running"): 1.0,
        ("event-recorder", "running"): 1.0,
        ("http-server", "running"): 1.0,
        ("object-managers", "running"): 1.0,
        ("objects", "running"): 1.0,
        ("pod-keeper", "running"): 1.0,
        ("pod-manager", "running"): 1.0,
        ("pods", "running"): 2.0,
        ("probe-keeper", "running"): 1.0,
        ("probers", "running"): 1.0,
        ("rollouts", "running"): 1.0,
        ("runtime", "running"): 2.0,
        ("runtimes", "running"): 1.0,
        ("secret-manager", "running"): 1.0,
        ("source", "running"): 1.0,
        ("sources", "running"): 1.0,
        ("status-keeper", "running"): 1.0,
    }
    (tmp_path / "web.yaml").unlink()
    eventually(lambda: values(agent, "kubelet_desired_pods")["true",] == 0.0)
    assert values(agent, "actorlet_manifest_verdicts")["file", "accepted"] == 0.0


def test_counters_only_grow_also_when_what_they_count_crashes(agent: Served) -> None:
    refused = ("actorlet_manifest_rejected_total", "syntax", "file")
    eventually(lambda: counters(agent).get(refused) == 1.0)
    before = counters(agent)
    agent.get("/debug/actors/source/file/crash", "POST")
    agent.get("/debug/actors/pod-manager/crash", "POST")
    eventually(lambda: agent.actor("source/file").restarts and agent.actor("pod-manager").restarts)
    eventually(lambda: agent.get("/pods").document["items"])
    after = counters(agent)
    assert [name for name in before if after.get(name, -1.0) < before[name]] == []
    assert after["actorlet_actor_restarts_total", "pod-manager", "failed"] == 1.0
    assert after["actorlet_actor_restarts_total", "source", "failed"] == 1.0
    assert after[refused] == 1.0


def test_the_seconds_per_message_are_a_histogram_of_all_messages(agent: Served) -> None:
    samples = scrape(agent)["actorlet_message_seconds"].samples
    of_manager = [s for s in samples if s.labels["actor"] == "pod-manager"]
    buckets = [s.value for s in of_manager if s.name.endswith("_bucket")]
    (count,) = [s.value for s in of_manager if s.name.endswith("_count")]
    (seconds,) = [s.value for s in of_manager if s.name.endswith("_sum")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == count > 0
    assert 0 < seconds < 5
