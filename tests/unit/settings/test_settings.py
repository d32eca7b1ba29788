"""Settings: flags over files over defaults, and the name of the node."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings.agent import Settings
from settings.command_line import parse
from settings.configuration_file import ConfigurationFile
from settings.containers import ContainerSettings
from settings.line import CommandLine
from settings.load import load_settings, settings_of
from settings.resources import ResourceSettings
from settings.runtime import RuntimeSettings
from settings.server import ServerSettings
from settings.situation import RuntimeKind
from tests.support.settings.settled import NO_SOURCE, refusal, settled


def test_nothing_given_is_a_standalone_agent_on_loopback_that_runs_containers() -> None:
    settings = settled()
    assert settings == Settings(
        node_name="node-1",
        cluster=None,
        runtime=RuntimeSettings(kind=RuntimeKind.CRI, containers=ContainerSettings()),
        resources=ResourceSettings(),
        server=ServerSettings(
            address="0.0.0.0",  # where it would listen
            port=0,
            certificate_directory=Path("/var/lib/actorlet/pki"),
        ),
        hosts=frozenset({"node-1", "127.0.0.1"}),
        configuration=settings.configuration,
        warnings=(NO_SOURCE,),
    )
    assert settings.root_dir == Path("/var/lib/actorlet")
    assert (settings.address, settings.read_only_port, settings.healthz_port) == (
        "127.0.0.1",
        10255,
        10248,
    )
    assert (settings.file_check_frequency, settings.http_check_frequency) == (2.0, 20.0)
    assert (settings.sync_frequency, settings.shutdown_deadline) == (60.0, 10.0)


def test_a_file_wins_over_the_defaults() -> None:
    settings = settled(
        staticPodPath="/pods",
        fileCheckFrequency="20s",
        readOnlyPort=0,
        healthzPort=0,
        enableServer=False,
        logging={"format": "json", "verbosity": 4},
    )
    assert settings.static_pod_path == Path("/pods")
    assert settings.file_check_frequency == 20.0
    assert (settings.read_only_port, settings.healthz_port) == (0, 0)
    assert not settings.enable_server
    assert (settings.logging_format, settings.verbosity) == ("json", 4)
    assert settings.warnings == ()


def test_flags_win_over_the_file_and_leave_its_other_fields() -> None:
    settings = settled(
        "--pod-manifest-path=/flag",
        "--file-check-frequency=1m",
        "--v=2",
        staticPodPath="/file",
        fileCheckFrequency="20s",
        healthzPort=1,
        logging={"format": "json", "verbosity": 4},
    )
    assert settings.static_pod_path == Path("/flag")
    assert settings.file_check_frequency == 60.0
    assert settings.healthz_port == 1
    assert (settings.logging_format, settings.verbosity) == ("json", 2)


def test_an_empty_flag_unsets_the_file_s_manifest_path() -> None:
    assert settled("--pod-manifest-path=", staticPodPath="/file").static_pod_path is None


def test_header_flags_replace_the_file_s_headers() -> None:
    settings = settled("--manifest-url-header=B:2,B:3", staticPodURLHeader={"A": ["1"]})
    assert settings.static_pod_url_header == {"B": ("2", "3")}


@pytest.mark.parametrize("arguments", [(), ("--file-check-frequency=0", "--max-pods=0")])
def test_zero_and_empty_values_ask_for_the_defaults(arguments: tuple[str, ...]) -> None:
    settings = settled(
        *arguments,
        fileCheckFrequency="0s",
        httpCheckFrequency="0s",
        syncFrequency="0s",
        address="",
        healthzBindAddress="",
        maxPods=0,
        logging={"format": ""},
    )
    assert settings.file_check_frequency == 2.0
    assert settings.http_check_frequency == 20.0
    assert settings.sync_frequency == 60.0
    assert (settings.address, settings.healthz_bind_address) == ("127.0.0.1", "127.0.0.1")
    assert (settings.resources.max_pods, settings.logging_format) == (110, "text")


def test_later_files_win() -> None:
    files = [
        ConfigurationFile(given={"healthzPort": 1, "readOnlyPort": 7}, warnings=("twice",)),
        ConfigurationFile(given={"healthzPort": 2}),
    ]
    settings = settings_of(CommandLine(), files, hostname="n")
    assert (settings.healthz_port, settings.read_only_port) == (2, 7)
    assert settings.warnings[0] == "twice"


@pytest.mark.parametrize(
    ("override", "name"),
    [
        ("", "node-1"),
        ("Web.Example.COM ", "web.example.com"),
        ("0", "0"),
        ("a" * 253, "a" * 253),
    ],
)
def test_a_node_is_called_by_its_name_in_lower_case(override: str, name: str) -> None:
    assert settled(f"--hostname-override={override}").node_name == name


@pytest.mark.parametrize(
    "name", ["my_host", "-a", "a-", "a..b", ".", "a b", "\u00e4", "a" * 254, "a\nb", "a/b", "a.-b"]
)
def test_a_name_that_is_no_dns_name_is_refused(name: str) -> None:
    line = CommandLine(others={"--hostname-override": name})
    assert "cannot be the name of a node" in refusal(lambda: settings_of(line, [], hostname="n"))


@pytest.mark.parametrize("hostname", ["", "(none)"])
def test_a_host_without_a_usable_name_is_told_how_to_get_one(hostname: str) -> None:
    said = refusal(lambda: settings_of(CommandLine(), [], hostname=hostname))
    assert said.endswith("choose one with --hostname-override")


def test_files_drop_ins_and_flags_are_read_from_where_they_are(tmp_path: Path) -> None:
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    (tmp_path / "main.yaml").write_text(head + "healthzPort: 1\nreadOnlyPort: 1\nmaxPods: 1\n")
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "a.conf").write_text(head + "readOnlyPort: 2\nmaxPods: 2\n")
    (tmp_path / "kubeconfig").write_text("")
    settings = load_settings(
        parse(
            [
                f"--config={tmp_path / 'main.yaml'}",
                f"--config-dir={tmp_path / 'drop'}",
                f"--kubeconfig={tmp_path / 'kubeconfig'}",
                "--runtime=hollow",
                "--max-pods=3",
                "--hostname-override=n",
            ]
        )
    )
    assert (settings.healthz_port, settings.read_only_port) == (1, 2)
    assert settings.resources.max_pods == 3
    assert settings.cluster is not None
