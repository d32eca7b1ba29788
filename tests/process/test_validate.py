"""The verdicts on manifests as pipelines get them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the agent with ``arguments`` until it ends."""
    command = [sys.executable, str(ROOT / "run.py"), "--hostname-override=n", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=ROOT
    )


def test_the_examples_are_served(tmp_path: Path) -> None:
    root_dir = tmp_path / "root"
    ended = run("--validate", "examples/manifests", "--root-dir", root_dir)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (
        ended.stdout.splitlines()[0]
        == "examples/manifests/batch.yaml: accepted (default/nightly-checksum-n)"
    )
    assert ended.stdout.splitlines()[-1] == "10 manifests: 10 accepted"
    assert not root_dir.exists()


def test_pods_that_use_objects_are_served_with_a_directory_of_them() -> None:
    pods = EXAMPLES / "pods-with-objects"
    alone = run("--validate", pods)
    assert alone.returncode == 1
    assert "--local-objects-dir" in alone.stdout
    beside = run(
        "--validate", pods, "--local-objects-dir", EXAMPLES / "local-objects", "-o", "json"
    )
    assert (beside.returncode, beside.stderr) == (0, "")
    assert json.loads(beside.stdout)["valid"] is True


def test_what_cannot_be_listed_is_one_sentence_and_code_1() -> None:
    ended = run("--validate=/nowhere")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "actorlet: /nowhere does not exist\n"


def test_the_flags_of_a_kubelet_s_unit_are_in_nobody_s_way() -> None:
    # Those of a kubelet 1.20 that kubeadm has set up beside Docker, and of one with a runtime of its own.
    unit = """
        --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --cgroup-driver=systemd
        --network-plugin=cni --pod-infra-container-image=registry/pause:3.2 --fail-swap-on=false
        --cni-conf-dir /etc/cni/net.d --logtostderr --alsologtostderr=false --add_dir_header
        --container-runtime remote --container-runtime-endpoint unix:///run/containerd/containerd.sock
        --feature-gates A=true,B=false --rotate-certificates --cert-dir=/var/lib/kubelet/pki --v=2
        """
    ended = run(*unit.split(), "--validate", "examples/manifests")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_reader_who_has_read_enough_changes_nothing_of_the_code() -> None:
    command = [sys.executable, "run.py", "--validate", "examples/manifests"]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        ended = subprocess.run(
            command, stdout=output, stderr=subprocess.PIPE, timeout=PATIENCE, check=False, cwd=ROOT
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_wrong_usage_is_code_2() -> None:
    assert run("--validate").returncode == 2
    assert run("--validate=examples/manifests", "--output=xml").returncode == 2
