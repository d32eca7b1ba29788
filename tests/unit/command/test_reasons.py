"""Why a pod does not run: what somebody who mends it has to know, and nothing of a pod that is well."""

from __future__ import annotations

from typing import Any

import pytest

from command.health_checks import check_lines
from command.reading import parts
from command.reasons import PodEvidence, reasons
from command.selecting import manifests_of
from command.wording import moment
from tests.support.command.agents import body, pod

NOW = moment("2026-11-22T23:57:48Z") or 0.0


def evidence(name: str, **more: Any) -> PodEvidence:
    """Return what a real agent has said about a pod."""
    given = pod(name)
    probes = parts(body("probez"), "pods")
    return PodEvidence(
        pod=given,
        manifests=manifests_of(body("sourcez"), given),
        objects=body("watchz")["objects"],
        probes=next((each for each in probes if each["uid"] == given["metadata"]["uid"]), {}),
        **more,
    )


def status(**fields: Any) -> dict[str, Any]:
    """Return a pod with this status."""
    return {"metadata": {"namespace": "n", "name": "p"}, "status": fields}


def container(**state: Any) -> dict[str, Any]:
    return {"name": "main", "state": state}


@pytest.mark.parametrize("name", ["web-edge-1", "nightly-checksum-edge-1", "etcd-edge-1"])
def test_a_pod_that_is_well_has_no_reason(name: str) -> None:
    assert reasons(evidence(name), NOW) == []


def test_a_crash_loop_is_told_with_its_code_its_restarts_and_its_pause() -> None:
    (told,) = reasons(evidence("loop-edge-1"), NOW)
    assert told.startswith(
        "Container a ended with 3 (Error) 20s ago, after 8 restarts; the next one"
    )
    assert "back-off 5m0s" in told


def test_each_missing_object_is_named_with_who_needs_it_and_why_it_is_missing() -> None:
    told = reasons(evidence("shop-edge-1"), NOW)
    assert len(told) == 3
    assert (
        "Secret default/shop-database does not exist (no file describes it); "
        "it is needed by volume database, container shop"
    ) in told


def test_an_object_that_may_be_missing_is_nobody_s_trouble() -> None:
    known = evidence("shop-edge-1")
    for volume in known.pod["spec"]["volumes"]:
        next(each for name, each in volume.items() if name != "name")["optional"] = True
    for each in known.pod["spec"]["containers"]:
        each.pop("env", None)
        each.pop("envFrom", None)
    assert reasons(known, NOW) == ["Nothing is wrong: shop is being created"]


def test_a_manifest_that_is_kept_is_told_of_a_pod_that_is_well_too() -> None:
    known = evidence("web-edge-1")
    known.manifests[0].update(verdict="kept", reason="spec (line 3): is required")  # type: ignore[attr-defined]
    (told,) = reasons(known, NOW)
    assert told.startswith("/etc/kubernetes/manifests/web.yaml is broken, so what it said before")
    assert told.endswith("spec (line 3): is required")


def test_a_probe_that_fails_is_told_with_what_it_said() -> None:
    known = evidence("web-edge-1")
    known.pod["status"]["conditions"] = []
    for each in known.probes["probes"]:
        if each["probe"] == "readiness":
            each.update(result="failure", lastAnswer={"text": "HTTP 503: not yet"})
    assert reasons(known, NOW) == [
        "The readiness probe of container nginx does not succeed: HTTP 503: not yet"
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            status(phase="Failed", reason="OutOfcpu", message="not enough cpu"),
            "The pod as a whole: OutOfcpu: not enough cpu",
        ),
        (
            status(
                containerStatuses=[
                    container(waiting={"reason": "ErrImagePull", "message": "no such image"})
                ]
            ),
            "Container main waits: ErrImagePull: no such image",
        ),
        (
            status(
                containerStatuses=[container(terminated={"exitCode": 137, "reason": "OOMKilled"})]
            ),
            "Container main was killed for its memory (OOMKilled)",
        ),
        (
            status(containerStatuses=[container(terminated={"exitCode": 137, "signal": 9})]),
            "Container main was ended by SIGKILL",
        ),
        (
            status(
                containerStatuses=[
                    container(terminated={"exitCode": 1, "message": "no\nconfiguration\n"})
                ]
            ),
            "Container main ended with 1: no configuration",
        ),
        (
            status(
                initContainerStatuses=[container(running={"startedAt": "2026-11-22T23:57:28Z"})]
            ),
            "Init container main has not ended yet; it was started 20s ago",
        ),
        (
            status(
                conditions=[
                    {"type": "Volumes", "status": "False", "message": "kind nfs is refused"}
                ]
            ),
            "Volumes: kind nfs is refused",
        ),
        (status(containerStatuses=[container(running={})]), "The agent has not begun with it"),
        (status(), "The agent has not begun with it"),
    ],
)
def test_what_a_status_says_is_told_in_a_sentence(given: Any, told: str) -> None:
    assert reasons(PodEvidence(pod=given), NOW) == [told]


def test_a_runtime_that_is_away_is_told_beside_what_a_pod_says() -> None:
    checks = check_lines("[-]container-runtime failed: connection refused\n[+]source/file ok\n")
    known = evidence("loop-edge-1", checks=tuple(each for each in checks if not each.is_well))
    assert reasons(known, NOW)[-1] == "The agent cannot start containers: connection refused"


@pytest.mark.parametrize(
    "given", [{}, {"status": 3}, {"status": {"containerStatuses": ["x", None]}}]
)
def test_a_pod_of_a_shape_that_nobody_knows_breaks_nothing(given: Any) -> None:
    assert reasons(PodEvidence(pod=given), NOW) == ["The agent has not begun with it"]


def test_a_volume_that_cannot_be_made_is_told_with_its_trouble() -> None:
    volumes = [
        {"name": "data", "trouble": "no space left on device"},
        {"name": "other", "trouble": ""},
    ]
    known = PodEvidence(pod=status(phase="Pending"), volumes=volumes)
    assert reasons(known, NOW) == ["The volume data has trouble: no space left on device"]
