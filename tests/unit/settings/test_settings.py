"""Settings: flags over files over defaults, and what is refused or warned of."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from messages.units import Seconds
from settings.cluster_settings import ChangeDetection, ClusterSettings
from settings.configuration.file import ConfigurationFile
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError
from settings.flags.command_line import CommandLine, parse
from settings.load import load_settings, settings_of
from settings.settings import Settings, effective_configuration

NO_SOURCE = (
    "No source of pods is configured: set staticPodPath or --pod-manifest-path, staticPodURL "
    "or --manifest-url, or join a cluster with --kubeconfig"
)
CONFIGURATIONS = Path(__file__).parents[2] / "fixtures" / "configurations"


def settled(*arguments: str, **fields: Any) -> Settings:
    """Return the settings of a file with ``fields`` under the flags ``arguments``."""
    given = KubeletConfiguration.model_validate(fields).given()
    return settings_of(parse(arguments), [ConfigurationFile(given=given)], hostname="Node-1")


def unserved(*names: str) -> str:
    """Return the warning of fields and flags that are not served."""
    return f"Not served yet, so without effect: {', '.join(names)}"


def idle(*names: str) -> str:
    """Return the warning of fields and flags that only a node of a cluster has a use for."""
    return f"Without effect on a standalone agent: {', '.join(names)}"


def refusal(settle: Callable[[], object]) -> str:
    """Return the sentence that ``settle`` is refused with."""
    with pytest.raises(UsageError) as caught:
        settle()
    return str(caught.value)


def test_nothing_given_is_a_standalone_agent_on_loopback_without_pods() -> None:
    settings = settled()
    assert settings == Settings(
        node_name="node-1",
        root_dir=Path("/var/lib/actorlet"),
        cluster=None,
        static_pod_path=None,
        file_check_frequency=settings.file_check_frequency,
        local_objects_dir=None,
        strict_manifests=False,
        clear_on_missing_path=False,
        static_pod_url="",
        static_pod_url_header={},
        static_pod_url_ca_file=None,
        http_check_frequency=settings.http_check_frequency,
        sync_frequency=settings.sync_frequency,
        max_pods=110,
        address="127.0.0.1",
        read_only_port=10255,
        healthz_bind_address="127.0.0.1",
        healthz_port=10248,
        enable_server=True,
        enable_chaos=False,
        logging_format="text",
        verbosity=0,
        configuration=settings.configuration,
        warnings=(NO_SOURCE,),
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
    assert (settings.max_pods, settings.logging_format) == (110, "text")


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
    line = CommandLine(hostname_override=name)
    assert "cannot be the name of a node" in refusal(lambda: settings_of(line, [], hostname="n"))


@pytest.mark.parametrize("hostname", ["", "(none)"])
def test_a_host_without_a_usable_name_is_told_how_to_get_one(hostname: str) -> None:
    said = refusal(lambda: settings_of(CommandLine(), [], hostname=hostname))
    assert said.endswith("choose one with --hostname-override")


class TestAddresses:
    """Who can reach the two ports."""

    def test_a_kubelet_s_address_without_its_read_only_port_stays_on_loopback(self) -> None:
        settings = settled(address="0.0.0.0", staticPodPath="/pods")
        assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
        (warning,) = settings.warnings
        assert warning.startswith("The read-only port listens on 127.0.0.1 and not on 0.0.0.0, ")

    def test_a_kubelet_s_address_with_its_read_only_port_off_is_nobody_s_concern(self) -> None:
        settings = settled(address="10.0.0.4", readOnlyPort=0, staticPodPath="/pods")
        assert settings.read_only_port == 0
        assert settings.warnings == ()

    @pytest.mark.parametrize(
        ("arguments", "fields"),
        [
            ((), {"address": "0.0.0.0", "readOnlyPort": 10255}),
            (("--read-only-port=10255",), {"address": "10.0.0.4"}),
            (("--address=::",), {}),
            (("--address=10.0.0.4",), {"readOnlyPort": 1}),
        ],
    )
    def test_who_asks_for_a_reachable_read_only_port_must_insist(
        self, arguments: tuple[str, ...], fields: dict[str, Any]
    ) -> None:
        said = refusal(lambda: settled(*arguments, **fields))
        assert said.startswith("readOnlyPort on ")
        assert "insist with --allow-non-loopback" in said
        insisted = settled(*arguments, "--allow-non-loopback", **fields)
        assert insisted.address in {"0.0.0.0", "10.0.0.4", "::"}

    def test_insisting_takes_a_file_s_address_at_its_word(self) -> None:
        settings = settled("--allow-non-loopback", address="0.0.0.0", staticPodPath="/pods")
        assert (settings.address, settings.warnings) == ("0.0.0.0", ())

    @pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
    def test_loopback_needs_no_insisting(self, address: str) -> None:
        settings = settled(f"--address={address}", f"--healthz-bind-address={address}")
        assert (settings.address, settings.healthz_bind_address) == (address, address)

    def test_a_reachable_healthz_port_must_be_insisted_on(self) -> None:
        said = refusal(lambda: settled(healthzBindAddress="0.0.0.0"))
        assert said.startswith("healthzPort on 0.0.0.0 would answer anybody")
        insisted = settled("--allow-non-loopback", healthzBindAddress="0.0.0.0")
        assert insisted.healthz_bind_address == "0.0.0.0"

    def test_a_healthz_port_that_is_off_may_have_any_address(self) -> None:
        assert settled(healthzBindAddress="0.0.0.0", healthzPort=0).healthz_port == 0

    def test_chaos_is_for_loopback_even_when_somebody_insists(self) -> None:
        assert settled("--enable-chaos").enable_chaos
        arguments = ("--enable-chaos", "--allow-non-loopback", "--address=0.0.0.0")
        assert refusal(lambda: settled(*arguments)) == (
            "--enable-chaos works on a loopback address only, not on 0.0.0.0"
        )


class TestWhatIsNotServed:
    """Known fields and flags without effect are named, once and together."""

    def test_they_are_named_by_their_paths_in_one_warning(self) -> None:
        settings = settled(
            "--bootstrap-kubeconfig=b",
            staticPodPath="/pods",
            authentication={"webhook": {"enabled": False}},
            logging={"vmodule": [{"filePattern": "a", "verbosity": 1}]},
        )
        assert settings.warnings == (
            unserved("authentication.webhook.enabled", "logging.vmodule", "--bootstrap-kubeconfig"),
        )

    def test_what_a_standalone_agent_has_no_use_for_is_named_too(self) -> None:
        arguments = ("--max-pods=50", "--node-ip=10.0.0.4", "--node-labels=a=b")
        settings = settled(*arguments, staticPodPath="/pods")
        assert settings.warnings == (idle("maxPods", "--node-labels", "--node-ip"),)
        assert settled(*arguments, "--kubeconfig=k", staticPodPath="/pods").warnings == ()

    def test_how_to_watch_objects_of_an_api_server_is_named_where_there_is_none(self) -> None:
        settings = settled(
            staticPodPath="/pods",
            syncFrequency="10s",
            configMapAndSecretChangeDetectionStrategy="Cache",
        )
        assert settings.warnings == (
            idle("configMapAndSecretChangeDetectionStrategy", "syncFrequency"),
        )
        assert settings.sync_frequency == 10.0

    def test_a_kubelet_s_default_changes_nothing_and_is_not_named(self) -> None:
        settings = settled(
            "--sync-frequency=1m",
            maxPods=110,
            cgroupDriver="cgroupfs",
            failSwapOn=True,
            shutdownGracePeriod="0s",
            clusterDNS=[],
            evictionHard={},
            memorySwap={},
            logging={"options": {"json": {"infoBufferSize": "0"}}},
        )
        assert settings.warnings == (NO_SOURCE,)

    def test_zero_is_no_default_where_it_means_something(self) -> None:
        assert settled(registryPullQPS=0, staticPodPath="/pods").warnings == (
            unserved("registryPullQPS"),
        )


def test_kubeadm_s_file_works_unchanged() -> None:
    settings = load_settings(CommandLine(config=CONFIGURATIONS / "kubeadm.yaml"))
    assert settings.static_pod_path == Path("/etc/kubernetes/manifests")
    assert settings.file_check_frequency == 2.0
    assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
    assert settings.warnings == (
        unserved(
            "authentication.x509.clientCAFile",
            "cgroupDriver",
            "clusterDNS",
            "clusterDomain",
            "resolvConf",
            "rotateCertificates",
        ),
    )


def test_the_standalone_tutorial_s_file_works_unchanged() -> None:
    settings = load_settings(CommandLine(config=CONFIGURATIONS / "standalone.yaml"))
    assert settings.static_pod_path == Path("/etc/kubernetes/manifests")
    assert not settings.enable_server
    # The tutorial reads the pods from the read-only port all the same.
    assert (settings.address, settings.read_only_port) == ("127.0.0.1", 10255)
    assert settings.warnings == (
        unserved(
            "authentication.webhook.enabled", "authorization.mode", "containerRuntimeEndpoint"
        ),
    )


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
                "--max-pods=3",
                "--hostname-override=n",
            ]
        )
    )
    assert (settings.healthz_port, settings.read_only_port, settings.max_pods) == (1, 2, 3)
    assert settings.cluster is not None


@pytest.mark.parametrize(
    "flags", [("--standalone", "--kubeconfig=k"), ("--kubeconfig=k", "--in-cluster")], ids="+".join
)
def test_two_ways_to_be_in_a_cluster_or_in_none_contradict_each_other(
    flags: tuple[str, ...],
) -> None:
    assert refusal(lambda: load_settings(parse(flags))).endswith("contradict each other")


def test_a_kubeconfig_need_not_exist_yet(tmp_path: Path) -> None:
    settings = load_settings(parse([f"--kubeconfig={tmp_path / 'none'}"]))
    assert settings.cluster is not None
    assert settings.cluster.kubeconfig == tmp_path / "none"


class TestJoiningACluster:
    """What makes the agent a node."""

    def test_the_defaults_are_a_kubelet_s(self) -> None:
        cluster = settled("--kubeconfig=k").cluster
        assert cluster == ClusterSettings(
            kubeconfig=Path("k"),
            register_node=True,
            node_labels={},
            taints=(),
            node_ips=(),
            qps=50,
            burst=100,
            status_update_frequency=Seconds(10.0),
            status_report_frequency=Seconds(300.0),
            lease_duration=Seconds(40.0),
            change_detection=ChangeDetection.WATCH,
        )

    @pytest.mark.parametrize(
        ("given", "strategy"),
        [
            ("", ChangeDetection.WATCH),
            ("Watch", ChangeDetection.WATCH),
            ("Cache", ChangeDetection.CACHE),
            ("Get", ChangeDetection.GET),
        ],
    )
    def test_changes_of_secrets_and_config_maps_are_noticed_as_the_file_says(
        self, given: str, strategy: ChangeDetection
    ) -> None:
        """Rule R11."""
        settings = settled(
            "--kubeconfig=k",
            staticPodPath="/pods",
            configMapAndSecretChangeDetectionStrategy=given,
        )
        assert settings.cluster is not None
        assert settings.cluster.change_detection is strategy
        shown = effective_configuration(settings)["kubeletconfig"]
        assert shown["configMapAndSecretChangeDetectionStrategy"] == strategy
        assert settings.warnings == ()

    def test_the_sync_frequency_has_an_effect(self) -> None:
        settings = settled("--kubeconfig=k", "--sync-frequency=2m", staticPodPath="/pods")
        assert settings.sync_frequency == 120.0
        assert settings.warnings == ()

    def test_in_a_pod_there_is_no_kubeconfig(self) -> None:
        cluster = settled("--in-cluster").cluster
        assert cluster is not None
        assert cluster.kubeconfig is None

    def test_taints_come_from_the_flag_or_the_file(self) -> None:
        typed = settled("--kubeconfig=k", "--register-with-taints=a=b:NoSchedule,c:NoExecute")
        assert typed.cluster is not None
        assert typed.cluster.taints == (
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"key": "c", "effect": "NoExecute"},
        )
        written = settled(
            "--kubeconfig=k", registerWithTaints=[{"key": "a", "effect": "NoExecute"}]
        )
        assert written.cluster is not None
        assert written.cluster.taints == ({"key": "a", "effect": "NoExecute"},)

    def test_a_taint_without_a_known_effect_is_refused(self) -> None:
        assert refusal(lambda: settled("--kubeconfig=k", "--register-with-taints=a:Never")) == (
            "registerWithTaints has the taint 'a' with the effect 'Never', which should be NoSchedule, "
            "PreferNoSchedule or NoExecute"
        )

    def test_a_label_that_no_node_may_give_itself_is_refused(self) -> None:
        said = refusal(lambda: settled("--kubeconfig=k", "--node-labels=k8s.io/a=b"))
        assert said.startswith("--node-labels has k8s.io/a: of the labels of kubernetes.io")

    def test_reports_follow_looks_when_only_those_are_set(self) -> None:
        """Rule N2."""
        cluster = settled("--kubeconfig=k", nodeStatusUpdateFrequency="1m").cluster
        assert cluster is not None
        assert (cluster.status_update_frequency, cluster.status_report_frequency) == (60.0, 60.0)

    def test_what_is_in_effect_is_shown(self) -> None:
        settings = settled("--kubeconfig=k", "--kube-api-qps=7", nodeLeaseDurationSeconds=20)
        shown = effective_configuration(settings)["kubeletconfig"]
        assert (shown["kubeAPIQPS"], shown["nodeLeaseDurationSeconds"]) == (7, 20)


@pytest.mark.parametrize(
    "url", ["hunter2", "ftp://hunter2/x", "http:///hunter2", "http://[hunter2"]
)
def test_a_manifest_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    said = refusal(lambda: settled(staticPodURL=url))
    assert said == "staticPodURL should be an http or https URL with a host"


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(("make", "kind"), [(_socket, "a socket"), (os.mkfifo, "a fifo")])
def test_a_manifest_path_that_is_no_file_or_directory_is_refused(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "pods")
    line = CommandLine(hostname_override="n", fields={"staticPodPath": str(tmp_path / "pods")})
    assert refusal(lambda: load_settings(line)) == (
        f"the manifest path {tmp_path / 'pods'} is {kind}; it should be a directory or a file"
    )


def test_a_device_is_no_manifest_path() -> None:
    line = CommandLine(hostname_override="n", fields={"staticPodPath": "/dev/null"})
    assert "/dev/null is a device" in refusal(lambda: load_settings(line))


@pytest.mark.parametrize("name", ["folder", "file", "missing"])
def test_a_manifest_path_may_be_a_directory_or_a_file_or_come_later(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    line = CommandLine(hostname_override="n", fields={"staticPodPath": str(tmp_path / name)})
    assert load_settings(line).static_pod_path == tmp_path / name


def test_configz_shows_what_is_in_effect_and_otherwise_what_was_given() -> None:
    settings = settled(
        "--file-check-frequency=90s",
        address="0.0.0.0",
        cgroupDriver="systemd",
        logging={"verbosity": 3, "flushFrequency": "5s"},
    )
    assert effective_configuration(settings) == {
        "kubeletconfig": {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "enableServer": True,
            "staticPodPath": "",
            "syncFrequency": "1m0s",
            "fileCheckFrequency": "1m30s",
            "httpCheckFrequency": "20s",
            "address": "127.0.0.1",
            "readOnlyPort": 10255,
            "healthzPort": 10248,
            "healthzBindAddress": "127.0.0.1",
            "maxPods": 110,
            "cgroupDriver": "systemd",
            "logging": {"verbosity": 3, "flushFrequency": "5s", "format": "text"},
        }
    }


def test_what_configz_shows_is_a_configuration_again() -> None:
    settings = settled(staticPodPath="/pods", evictionHard={"memory.available": "1Gi"})
    shown = effective_configuration(settings)["kubeletconfig"]
    assert KubeletConfiguration.model_validate(shown).given() == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8080/pods", "http://host:8080/pods"),
        ("https://me:hunter2@host/pods", "https://<masked>@host/pods"),
        ("https://@host/pods", "https://<masked>@host/pods"),
        ("https://host/pods?token=hunter2#hunter2", "https://host/pods?<masked>"),
    ],
)
def test_secrets_of_the_manifest_url_are_neither_shown_nor_printed(url: str, shown: str) -> None:
    settings = settled(staticPodURL=url, staticPodURLHeader={"A": ["hunter2", "hunter2"], "B": []})
    configuration = effective_configuration(settings)["kubeletconfig"]
    assert configuration["staticPodURL"] == shown
    assert configuration["staticPodURLHeader"] == {"A": ["<masked>", "<masked>"], "B": []}
    assert not re.search("hunter2", repr(settings) + "".join(settings.warnings))
