"""What the API server would refuse, one field at a time: rule S15.

The tables of single fields are in ``tests.support.manifests.validation``, one for each part of a pod.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from messages.sources import RejectReason
from tests.support.manifests.manifest_text import GOOD, decoded, document_of, edited, refused
from tests.support.manifests.validation import (
    containers,
    environment,
    metadata,
    mounts,
    pod,
    probes,
    resources,
    security,
    selectors,
    volumes,
)
from tests.support.manifests.validation.rows import CONTAINER, C

PARTS = (
    metadata,
    pod,
    selectors,
    containers,
    environment,
    mounts,
    probes,
    resources,
    security,
    volumes,
)
BAD = [row for part in PARTS for row in part.BAD]
FINE = [row for part in PARTS for row in part.FINE]
DOUBTFUL = [row for part in PARTS for row in part.DOUBTFUL]


@pytest.mark.parametrize(("path", "value", "sentence"), BAD, ids=lambda part: str(part)[:60])
def test_what_the_api_server_would_refuse_is_refused(path: str, value: Any, sentence: str) -> None:
    answer = refused(edited(path, value))
    assert answer.code == RejectReason.INVALID
    assert sentence in answer.reason


@pytest.mark.parametrize(("path", "value"), FINE, ids=lambda part: str(part)[:60])
def test_what_the_api_server_would_take_is_taken(path: str, value: Any) -> None:
    assert decoded(edited(path, value)).warnings == ()


@pytest.mark.parametrize(("path", "value", "sentence"), DOUBTFUL, ids=lambda part: str(part)[:60])
def test_what_the_api_server_puts_up_with_is_taken_with_a_warning(
    path: str, value: Any, sentence: str
) -> None:
    (warning,) = decoded(edited(path, value)).warnings
    assert sentence in warning


def test_a_misspelt_source_of_a_projected_volume_is_told_twice_and_left_out() -> None:
    volume = {"name": "a", "projected": {"sources": [{"downwardApi": {}}]}}
    misspelt, nothing = decoded(edited("spec.volumes", [volume])).warnings
    assert "did you mean downwardAPI?" in misspelt
    assert "projects nothing" in nothing


def test_a_negative_grace_period_is_one_second() -> None:
    spec = document_of(edited("spec.terminationGracePeriodSeconds", -(2**63)))["spec"]
    assert spec["terminationGracePeriodSeconds"] == 1


def test_a_hook_may_sleep_for_the_one_second_of_a_negative_grace_period() -> None:
    def hook(seconds: int) -> str:
        sleeping = {"preStop": {"sleep": {"seconds": seconds}}}
        return _with({"terminationGracePeriodSeconds": -5}, lifecycle=sleeping)

    assert len(decoded(hook(1)).warnings) == 1
    assert "must be between 0 and 1, not 2" in refused(hook(2)).reason


def test_init_containers_and_containers_can_tell_of_each_other() -> None:
    def limit_of(name: str) -> list[dict[str, Any]]:
        reference = {"resource": "limits.cpu", "containerName": name}
        return [{"name": "A", "valueFrom": {"resourceFieldRef": reference}}]

    first = CONTAINER | {"name": "first", "env": limit_of("server")}
    assert decoded(_with({"initContainers": [first]}, env=limit_of("first"))).warnings == ()
    strange = first | {"env": limit_of("second")}
    (warning,) = decoded(_with({"initContainers": [strange]})).warnings
    assert warning.startswith("spec.initContainers[0].env[0].valueFrom.resourceFieldRef.")


def _with(spec: dict[str, Any], **container: Any) -> str:
    containers = [GOOD["spec"]["containers"][0] | container]
    return json.dumps(GOOD | {"spec": GOOD["spec"] | {"containers": containers} | spec})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_with({"hostPID": True, "shareProcessNamespace": True}), "cannot be true beside hostPID"),
        (_with({"hostIPC": True, "hostUsers": False}), "cannot be true with hostUsers: false"),
        (_with({"hostnameOverride": "a", "setHostnameAsFQDN": True}), "beside setHostnameAsFQDN"),
        (
            _with({"hostNetwork": True}, ports=[{"containerPort": 1, "hostPort": 2}]),
            "must be the containerPort on the host's network",
        ),
        (
            _with({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.a"}]}}),
            "cannot be set on the host's network",
        ),
        (
            _with({"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel/shmmax"}]}}),
            "cannot be set with hostIPC",
        ),
        (
            _with({"os": {"name": "windows"}, "hostPID": True}),
            "spec.hostPID (line 1): cannot be set when os.name is windows",
        ),
        (
            _with({"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}}),
            "spec.securityContext.runAsUser",
        ),
        (
            _with({"os": {"name": "windows"}}, securityContext={"privileged": True}),
            "spec.containers[0].securityContext.privileged",
        ),
        (
            _with({"os": {"name": "linux"}}, securityContext={"windowsOptions": {}}),
            "cannot be set when os.name is linux",
        ),
        (
            _with(
                {"restartPolicy": "Never"},
                resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
            ),
            "must be NotRequired when the pod never restarts",
        ),
        (
            _with(
                {},
                volumeMounts=[{"name": "scratch", "mountPath": "/a"}],
                volumeDevices=[{"name": "scratch", "devicePath": "/a"}],
            ),
            "is the path of a volume mount too",
        ),
        (
            _with(
                {},
                volumeMounts=[{"name": "x", "mountPath": "/a"}],
                volumeDevices=[{"name": "x", "devicePath": "/b"}],
            ),
            "volumeDevices[0].name (line 1): is the volume of a volume mount too",
        ),
    ],
)
def test_fields_that_do_not_go_together_are_refused(text: str, sentence: str) -> None:
    answer = refused(text)
    assert answer.code == RejectReason.INVALID
    assert sentence in answer.reason


@pytest.mark.parametrize(
    "text",
    [
        _with({"hostUsers": False}, securityContext={"procMount": "Unmasked"}),
        _with(
            {},
            securityContext={"privileged": True},
            volumeMounts=[
                {"name": "scratch", "mountPath": "/a", "mountPropagation": "Bidirectional"},
            ],
        ),
        _with({"os": {"name": "linux"}}, lifecycle={"stopSignal": "SIGRTMIN+1"}),
        _with({"os": {"name": "windows"}}, securityContext={"windowsOptions": {}}),
        _with({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}),
        _with({"setHostnameAsFQDN": True, "hostPID": True}),
        _with(
            {},
            restartPolicy="OnFailure",
            restartPolicyRules=[
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}},
            ],
        ),
    ],
)
def test_fields_that_go_together_are_taken(text: str) -> None:
    assert decoded(text).warnings == ()


def test_the_first_few_problems_are_told_and_the_others_counted() -> None:
    ports = [{"containerPort": 0}] * 70
    reason = refused(edited(f"{C}.ports", ports)).reason
    assert reason.count("must be between 1 and 65535, not 0") == 3
    assert reason.endswith("; and 67 more")


def test_a_problem_is_told_with_its_line_in_the_file() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: server
    image: server
    ports:
    - name: http
      containerPort: 0
"""
    answer = refused(text)
    assert answer.reason == (
        "spec.containers[0].ports[0].containerPort (line 11): must be between 1 and 65535, not 0"
    )
    assert answer.pod == "default/web-node1"


def test_what_is_missing_is_told_with_the_line_of_what_it_is_missing_in() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - image: server
"""
    assert refused(text).reason == "spec.containers[0].name (line 6): is required"


@pytest.mark.parametrize(
    ("container", "told"),
    [
        (
            "name: a\n    imagee: a",
            "spec.containers[0].image (line 6): is required (unknown beside it: imagee on line 7)",
        ),
        (
            "name: a\n    what: a\n    imagee: a",
            "is required (unknown beside it: imagee on line 8)",
        ),
        ("name: a\n    what: a\n    why: a", "(unknown beside it: what on line 7, why on line 8)"),
        (
            "name: a\n    ports: [{containerPort: 1, imagee: a}]",
            "spec.containers[0].image (line 6): is required",
        ),
        (
            "name: a\n    image: a\n    imagee: b\n    env: [{value: b}]",
            "env[0].name (line 9): is required",
        ),
    ],
)
def test_a_missing_field_names_the_unknown_ones_beside_it(container: str, told: str) -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
    assert refused(f"{text}  - {container}\n").reason.endswith(told)


def test_a_missing_choice_names_the_unknown_fields_beside_it() -> None:
    field = edited(f"{C}.livenessProbe", {"httpget": {"port": 1}})
    assert "(unknown beside it: httpget on line 1)" in refused(field).reason


ESCAPES = ("\x1b[31m", "\x9b31m", "\x07", "a\x7f", "a\nb")


@pytest.mark.parametrize("text", ESCAPES)
@pytest.mark.parametrize(
    "path",
    [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        f"{C}.name",
        f"{C}.image",
        "spec.volumes.0.name",
        "spec.hostname",
        "spec.subdomain",
        "spec.runtimeClassName",
        "spec.priorityClassName",
        f"{C}.volumeMounts.0.name",
        "spec.volumes.0.image.reference",
    ],
)
def test_what_a_terminal_would_obey_is_refused_in_names_and_images(path: str, text: str) -> None:
    document = json.loads(edited("spec.volumes", [{"name": "a", "image": {"reference": "a"}}]))
    document["spec"]["containers"][0]["volumeMounts"] = [{"name": "a", "mountPath": "/a"}]
    assert decoded(json.dumps(document)).warnings == ()
    answer = refused(edited(path, text, document))
    assert answer.code == RejectReason.INVALID
    assert answer.reason.isprintable()


@pytest.mark.parametrize("text", ESCAPES)
def test_no_warning_holds_what_a_terminal_would_obey(text: str) -> None:
    warnings = decoded(edited(f"metadata.{text}", text)).warnings
    assert warnings
    assert all(warning.isprintable() for warning in warnings)


def test_the_values_of_variables_are_never_shown() -> None:
    variable = {"name": "A", "value": "s3cret", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}
    answer = refused(edited(f"{C}.env", [variable]))
    assert "s3cret" not in repr(answer)
    assert "s3cret" not in repr(decoded(edited(f"{C}.env", [{"name": "A", "value": "s3cret"}])))
