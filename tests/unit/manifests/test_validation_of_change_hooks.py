"""Whether the verdict of a static pod says that its change hook does nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from manifests.change_hooks import ON_OBJECT_CHANGE
from manifests.pod_manifest import ManifestRules
from tests.support.manifests.manifest_text import GOOD, RULES, decoded

LOCAL_FILES = replace(RULES, allow_references=True)
HOOK = f'metadata.annotations["{ON_OBJECT_CHANGE}"]'
CONTAINER = GOOD["spec"]["containers"][0]
IN_ENV = {"containers": [CONTAINER | {"envFrom": [{"configMapRef": {"name": "settings"}}]}]}
IN_VOLUME = {"volumes": [{"name": "a", "secret": {"secretName": "a"}}]}
FOR_PULLS = {"imagePullSecrets": [{"name": "a"}]}


def warnings(hook: str | None, spec: dict[str, Any], rules: ManifestRules = LOCAL_FILES) -> Any:
    annotations = {ON_OBJECT_CHANGE: hook, "other": "restart"}
    metadata = GOOD["metadata"] | {"annotations": annotations}
    return decoded(
        json.dumps(GOOD | {"metadata": metadata, "spec": GOOD["spec"] | spec}), rules
    ).warnings


@pytest.mark.parametrize("hook", ["signal:SIGHUP", "restart,splay=30s", "none", "", None])
@pytest.mark.parametrize("spec", [IN_VOLUME, IN_ENV | IN_VOLUME, IN_VOLUME | FOR_PULLS])
def test_a_hook_that_can_be_read_is_taken(hook: str | None, spec: dict[str, Any]) -> None:
    assert warnings(hook, spec) == ()


@pytest.mark.parametrize("hook", ["restart", "none"])
@pytest.mark.parametrize("spec", [IN_ENV, IN_ENV | FOR_PULLS])
def test_a_restart_is_for_variables_too(hook: str, spec: dict[str, Any]) -> None:
    assert warnings(hook, spec) == ()


@pytest.mark.parametrize("spec", [{}, IN_ENV])
def test_a_hook_that_cannot_be_read_is_warned_of(spec: dict[str, Any]) -> None:
    (warning,) = warnings("reload", spec)
    assert warning == (
        f"{HOOK} (line 1): should be none, restart or signal:SIGHUP, and may end in ,splay=30s;"
        " as it is, changes do nothing"
    )


@pytest.mark.parametrize(
    "hook", ["c4n4ry", "signal:c4n4ry", "restart,splay=c4n4ry", "restart,c4n4ry"]
)
def test_an_annotation_is_never_quoted(hook: str) -> None:
    (warning,) = warnings(hook, IN_ENV)
    assert "c4n4ry" not in warning


@pytest.mark.parametrize("spec", [{}, FOR_PULLS])
def test_a_restart_that_no_change_can_concern_is_warned_of(spec: dict[str, Any]) -> None:
    assert warnings("restart", spec) == (
        f"{HOOK} (line 1): has no effect: the containers of the pod use no Secret and no ConfigMap",
    )


@pytest.mark.parametrize("spec", [{}, FOR_PULLS, IN_ENV, IN_ENV | FOR_PULLS])
def test_a_signal_that_no_change_can_concern_is_warned_of(spec: dict[str, Any]) -> None:
    """A process that runs never sees a new variable."""
    (warning,) = warnings("signal:SIGHUP", spec)
    assert warning == (
        f"{HOOK} (line 1): has no effect: no file that the pod mounts changes with a Secret or a"
        " ConfigMap, and a program that runs sees no other changes"
    )


@pytest.mark.parametrize("hook", ["none", ""])
def test_a_pod_without_references_may_say_that_it_wants_nothing(hook: str) -> None:
    assert warnings(hook, {}, RULES) == ()


def test_the_line_of_the_annotation_is_told() -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    {ON_OBJECT_CHANGE}: signal:KILL
spec:
  containers: [{{name: server, image: server}}]
"""
    (warning,) = decoded(text).warnings
    assert warning.startswith(f"{HOOK} (line 6): should name a signal as POSIX does")
