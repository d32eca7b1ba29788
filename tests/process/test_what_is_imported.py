"""A running agent has imported what it uses, and nothing that only its start needs: that would stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent.imports import Imports
from tests.support.agent.process import AgentProcess, manifest
from tests.support.kube.kubeconfigs import Kubeconfig
from tests.support.wire.ports import free_ports

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

FOR_SETTINGS = {"click", "pydantic", "pydantic_core"}
"""What reads flags and configuration files."""
FOR_A_CLUSTER = {"kubernetes", "pyreqwest"}


def test_a_standalone_agent_has_imported_neither_what_reads_settings_nor_what_a_cluster_needs(
    tmp_path: Path,
) -> None:
    imports = Imports(tmp_path)
    (tmp_path / "config.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    )
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        flags = (f"--config={tmp_path / 'config.yaml'}",)
        agent.start_on_manifests(*flags, environment=imports.environment)
        for path in ("/pods", "/metrics", "/configz", "/sourcez", "/actorz"):
            assert agent.get(path)[0] == 200
        pid = agent.process.pid
        assert not imports.of(pid) & (FOR_SETTINGS | FOR_A_CLUSTER)
        # Somebody has read the settings.
        assert imports.of_others(pid) >= FOR_SETTINGS


def test_a_log_without_tracebacks_in_colours_does_not_import_what_draws_them(
    tmp_path: Path,
) -> None:
    imports = Imports(tmp_path)
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests(environment=imports.environment)
        assert not imports.of(agent.process.pid) & {"pygments", "markdown_it"}


def test_a_joined_agent_leaves_the_kubernetes_client_to_a_process_that_ends(
    tmp_path: Path,
) -> None:
    imports = Imports(tmp_path)
    kubeconfig = Kubeconfig(tmp_path)
    # Credentials are read before somebody is called, and nobody has to answer.
    (port,) = free_ports(1)
    kubeconfig.is_for(cluster={"server": f"https://127.0.0.1:{port}"})
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        flags = (f"--kubeconfig={kubeconfig.path}", "--port=0", "--runtime=hollow")
        agent.start_on_manifests(*flags, environment=imports.environment)
        agent.logs("calls to the API server fail")
        pid = agent.process.pid
        assert "connection refused" in agent.log()
        assert "pyreqwest" in imports.of(pid)
        assert not imports.of(pid) & (FOR_SETTINGS | {"kubernetes"})
        assert "kubernetes" in imports.of_others(pid)


def test_the_allocator_of_the_http_client_asks_for_no_huge_pages(tmp_path: Path) -> None:
    kubeconfig = Kubeconfig(tmp_path)
    with AgentProcess(tmp_path) as agent:
        agent.write("web.yaml", manifest("web"))
        agent.start_on_manifests(f"--kubeconfig={kubeconfig.path}", "--port=0", "--runtime=hollow")
        status = Path(f"/proc/{agent.process.pid}/status").read_text()
        # The allocator forbids them to the whole process. A kernel without them has no such line.
        assert "THP_enabled:\t1" not in status
