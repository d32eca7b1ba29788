"""Mirrors that a real API server does not take: who is told, and what becomes of it once it is mended."""

from __future__ import annotations

import pytest

from messages.pods import JsonObject
from tests.support.agent.joined_agent import JoinedAgent, Onlooker
from tests.support.agent.joined_pods import status
from tests.support.agent.process import eventually, manifest
from tests.support.apiserver.subjects import pod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def event_about(onlooker: Onlooker, name: str) -> JsonObject | None:
    """Return the warning about the mirror of a static pod."""
    found = (each for each in onlooker.warnings() if name in each["message"])
    return next(found, None)


def verdict_on(agent: JoinedAgent, name: str) -> str:
    """Return the verdict on the mirror of a static pod, empty if there is none."""
    return "".join(each for each in agent.warnings(name) if "the cluster does not show" in each)


def shows_the_trouble(agent: JoinedAgent, onlooker: Onlooker, name: str) -> str:
    """Return the verdict on a static pod's mirror, once the event about it has been posted too."""
    verdict = eventually(lambda: verdict_on(agent, name))
    event = eventually(lambda: event_about(onlooker, f"default/{name}-n1"))
    assert event["reason"] == "FailedMirrorPod"
    assert event["involvedObject"] == {
        "kind": "Node",
        "name": "n1",
        "uid": "n1",
        "apiVersion": "v1",
    }
    assert event["source"] == {"component": "actorlet", "host": "n1"}
    assert event["message"].partition(": ")[2] in verdict
    assert f"{name}-n1" in agent.pods()
    return verdict


def refused(agent: JoinedAgent, reason: str) -> float:
    """Return how often mirrors were refused for ``reason``."""
    return agent.metric("actorlet_mirror_create_errors_total").get(reason, 0.0)


@pytest.mark.parametrize("node", ["", "n2"], ids=["unbound", "bound elsewhere"])
def test_a_name_that_is_taken_is_a_verdict_and_the_mirror_follows_once_it_is_free(
    shared: JoinedAgent, onlooker: Onlooker, node: str
) -> None:
    refused_before = refused(shared, "name_taken")
    taken = onlooker.admin.add(pod("web-n1", node=node))
    shared.serve("web")
    verdict = shows_the_trouble(shared, onlooker, "web")
    assert "its name is taken by a pod that is no mirror of this node" in verdict
    eventually(lambda: refused(shared, "name_taken") > refused_before)
    found = onlooker.admin.get("pods", "default", "web-n1")
    assert found["metadata"]["uid"] == taken["metadata"]["uid"]

    created = shared.log().count("created mirror pod")
    onlooker.admin.remove("pods", "default", "web-n1")
    mirrors = eventually(onlooker.mirrors)
    assert [*mirrors] == ["web-n1"]
    eventually(lambda: shared.warnings("web") == [])
    # It stays, as does another one that came later.
    shared.serve("db")
    eventually(lambda: onlooker.pod("db-n1"))
    assert onlooker.mirrors()["web-n1"] == mirrors["web-n1"]
    eventually(lambda: shared.log().count("created mirror pod") == created + 2)


def test_a_static_pod_waits_for_a_bound_pod_of_its_name(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    bound = onlooker.admin.add(pod("web-n1"))["metadata"]["uid"]
    eventually(lambda: shared.pods() == {"web-n1": bound})
    shared.serve("web")
    eventually(lambda: [each["verdict"] for each in shared.manifest_verdicts()] == ["shadowed"])
    assert onlooker.mirrors() == {}

    onlooker.admin.remove("pods", "default", "web-n1")
    eventually(lambda: [*onlooker.mirrors()] == ["web-n1"])
    eventually(lambda: bound not in shared.pods().values())
    eventually(lambda: [each["verdict"] for each in shared.manifest_verdicts()] == ["accepted"])
    assert shared.warnings("web") == []


def test_a_bound_pod_that_waits_for_the_name_of_a_static_pod_is_deleted_as_any_other(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    onlooker.admin.add(pod("web-n1", node=""))
    shared.serve("web")
    static = eventually(shared.pods)
    shows_the_trouble(shared, onlooker, "web")
    target = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n1"}}
    onlooker.create(
        "/api/v1/namespaces/default/pods/web-n1/binding", {**target, "metadata": {"name": "web-n1"}}
    )
    shared.serve("db")  # later than the binding: both are known once this one has its mirror
    eventually(lambda: onlooker.pod("db-n1"))
    assert status(onlooker, "web-n1").get("phase") == "Pending"

    onlooker.admin.remove("pods", "default", "web-n1", grace=1)
    eventually(lambda: {*onlooker.mirrors()} == {"db-n1", "web-n1"})
    mirrors = onlooker.mirrors()
    eventually(lambda: shared.warnings("web") == [])
    assert shared.pods()["web-n1"] == static["web-n1"]
    assert onlooker.mirrors() == mirrors


def test_a_missing_namespace_is_a_verdict_and_the_mirror_follows_once_it_is_there(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    shared.serve("web", namespace="late")
    verdict = eventually(lambda: verdict_on(shared, "web"))
    assert 'namespaces "late" not found' in verdict
    event = eventually(lambda: event_about(onlooker, "late/web-n1"))
    assert "not found" in event["message"]
    eventually(lambda: refused(shared, "not_found") >= 1)
    assert [*shared.pods()] == ["web-n1"]

    onlooker.admin.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "late"}})
    eventually(lambda: onlooker.pod("web-n1", "late"))
    eventually(lambda: shared.warnings("web") == [])


def test_a_priority_that_admission_refuses_is_a_verdict_until_the_manifest_is_mended(
    shared: JoinedAgent, onlooker: Onlooker
) -> None:
    text = manifest("vital")
    shared.write("vital.yaml", f"{text}  priority: 12\n")
    verdict = shows_the_trouble(shared, onlooker, "vital")
    assert "cannot create pod default/vital-n1 at https://127.0.0.1" in verdict
    assert "as system:node:n1: forbidden" in verdict
    assert "priority" in verdict
    eventually(lambda: refused(shared, "forbidden") >= 1)
    assert onlooker.mirrors() == {}

    shared.write("vital.yaml", text)
    eventually(onlooker.mirrors)
    eventually(lambda: shared.warnings("vital") == [])
