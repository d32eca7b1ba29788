"""The command line as people type it."""

from __future__ import annotations

from pathlib import Path

import pytest

from manifests.durations import Span
from messages.units import Seconds
from settings.configuration.schema import KubeletConfiguration
from settings.errors import UsageError
from settings.flags.command_line import CommandLine, parse
from settings.flags.definitions import COMMAND, FLAGS


def complaint(*arguments: str) -> str:
    """Return what ``arguments`` are refused with."""
    with pytest.raises(UsageError) as caught:
        parse(arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_typed_is_nothing_said() -> None:
    assert parse([]) == CommandLine()


def test_every_own_flag_is_told_by_its_name() -> None:
    line = parse(
        [
            *("--config", "c", "--config-dir=d", "--root-dir=r", "--hostname-override=h"),
            *("--kubeconfig=k", "--standalone", "--node-labels=a=b,c=", "--strict-manifests"),
            *("--clear-on-missing-path", "--allow-non-loopback", "--enable-chaos"),
            *("--allow-host", "Tools.Example.", "--allow-host=[2001:db8::7]"),
            *(
                "--local-objects-dir=l",
                "--in-cluster",
                "--node-ip=10.0.0.4,::1",
                "--manifest-url-ca-file=ca",
                "--validate=m",
                "--output=json",
                "--hollow-times=run-for=10s",
                "--hollow-seed=s",
                "--hollow-records",
            ),
        ]
    )
    assert line == CommandLine(
        config=Path("c"),
        config_dir=Path("d"),
        root_dir=Path("r"),
        hostname_override="h",
        kubeconfig=Path("k"),
        standalone=True,
        node_labels={"a": "b", "c": ""},
        local_objects_dir=Path("l"),
        strict_manifests=True,
        clear_on_missing_path=True,
        allow_non_loopback=True,
        allow_host=("tools.example", "2001:db8::7"),
        enable_chaos=True,
        in_cluster=True,
        node_ip=("10.0.0.4", "::1"),
        manifest_url_ca_file=Path("ca"),
        validate=Path("m"),
        output="json",
        hollow_times={"run-for": Span(Seconds(10.0), Seconds(10.0))},
        hollow_seed="s",
        hollow_records=True,
    )


@pytest.mark.parametrize(
    ("typed", "field", "value"),
    [
        ("--pod-manifest-path=p", "staticPodPath", "p"),
        ("--file-check-frequency=90s", "fileCheckFrequency", "1m30s"),
        ("--address=::1", "address", "::1"),
        ("--read-only-port=0", "readOnlyPort", 0),
        ("--healthz-bind-address=127.0.0.2", "healthzBindAddress", "127.0.0.2"),
        ("--healthz-port=65535", "healthzPort", 65535),
        ("--logging-format=json", "logging.format", "json"),
        ("--v=4", "logging.verbosity", 4),
        ("-v=4", "logging.verbosity", 4),
        ("-v4", "logging.verbosity", 4),
        ("--max-pods=5", "maxPods", 5),
        ("--manifest-url=http://x", "staticPodURL", "http://x"),
        ("--http-check-frequency=1s", "httpCheckFrequency", "1s"),
        ("--sync-frequency=1s", "syncFrequency", "1s"),
        ("--enable-server=false", "enableServer", False),
        ("--enable-server", "enableServer", True),
        ("--register-node=F", "registerNode", False),
        ("--read_only_port=7", "readOnlyPort", 7),
    ],
)
def test_a_flag_for_a_field_is_told_by_the_field_s_path(
    typed: str, field: str, value: object
) -> None:
    assert parse([typed]).fields == {field: value}


def test_a_value_may_stand_behind_its_flag() -> None:
    fields = parse(["-v", "2", "--read-only-port", "1"]).fields
    assert fields == {"logging.verbosity": 2, "readOnlyPort": 1}


def test_switches_are_written_as_go_writes_them() -> None:
    assert not parse(["--standalone=false"]).standalone
    assert parse(["--standalone=true", "--enable-chaos=1"]).enable_chaos
    assert parse(["--standalone", "--strict-manifests"]).strict_manifests


def test_headers_gather_over_commas_and_repeats() -> None:
    line = parse(["--manifest-url-header=A:1, B : x:y", "--manifest-url-header", "A:2"])
    assert line.fields == {"staticPodURLHeader": {"A": ["1", "2"], "B": ["x:y"]}}
    assert "x:y" not in repr(line)


def test_an_empty_flag_is_no_flag() -> None:
    assert parse(["--config=", "--root-dir=", "--kubeconfig=", "--hostname-override="]) == parse([])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--confg=x"], "No such option '--confg'. (Did you mean one of: '--config', "),
        (["-x"], "No such option '-x'"),
        (["pods"], "Got unexpected extra argument (pods)"),
        (["--config"], "Option '--config' requires an argument"),
        (["--read-only-port=65536"], "'--read-only-port': should be a port from 0 to 65535"),
        (["--healthz-port=x"], "'--healthz-port': should be a whole number from 0 on"),
        (["--healthz-port=-1"], "'--healthz-port': should be a whole number from 0 on"),
        (["--max-pods=2147483648"], "'--max-pods': should be a whole number from 0 on"),
        (["-v", "\u0661"], "should be a whole number from 0 on"),
        (["--file-check-frequency=20"], "should be a duration such as 20s"),
        (["--file-check-frequency=1ms"], "should be at least 10ms"),
        (["--address=localhost"], "'--address': should be an IP address"),
        (["--logging-format=xml"], "'--logging-format': should be text or json"),
        (["--standalone=maybe"], "'--standalone': should be true or false"),
        (["--node-ip=host"], "'--node-ip': should be an IP address"),
        (["--register-with-taints=a"], "should be key=value:Effect,key:Effect"),
        (["--node-labels=a"], "should be name=value,name=value"),
        (["--manifest-url-header=hunter2"], "should be name:value,name:value"),
        (["--manifest-url-header=:hunter2"], "should be name:value,name:value"),
    ],
)
def test_what_is_mistyped_gets_one_sentence(arguments: list[str], said: str) -> None:
    assert said in complaint(*arguments)
    assert "hunter2" not in complaint(*arguments)
    assert complaint(*arguments).endswith("(--help lists the flags)")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_every_flag_in_its_section(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse([flag])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert [name for flag in FLAGS for name in flag.opts if name not in shown] == []
    assert shown.index("Where pods come from:") < shown.index("--pod-manifest-path")
    assert shown.index("--pod-manifest-path") < shown.index("Endpoints:")


def test_help_says_what_can_run_pods() -> None:
    assert "in containers, by a Python class of yours, or so that" in str(COMMAND.help)


def test_the_version_is_the_project_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == "actorlet 0.1.0\n"


def test_every_flag_for_a_field_names_a_field_that_exists() -> None:
    paths = [flag.field.split(".")[0] for flag in FLAGS if flag.field]
    assert set(paths) <= KubeletConfiguration.model_fields.keys()
