"""What is said of flags and files, held against the loader: neither knows more than the other."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from settings.command_line import parse
from settings.errors import StartError, UsageError
from settings.explaining import ExplainedSetting, Explanation, SettingFate, explained
from settings.load import load_settings
from settings.situation import RuntimeKind, Situation
from settings.table import API_VERSION, FIELDS, KIND, ROWS
from settings.without_effect import REASONS
from tests.support.project.checkout import ROOT
from tests.support.settings.corpus import WRONG
from tests.support.settings.settled import at_path, refusal

CONFIGURATIONS = Path(__file__).parents[2] / "fixtures" / "configurations"
HEAD = f"apiVersion: {API_VERSION}\nkind: {KIND}\n"
WRONG_FIELDS: dict[str, Any] = {
    **{key: field for name, value, _ in WRONG for key, field in at_path(name, value).items()},
    "maxPods": "many",
    "statcPodPath": "/pods",
    "logging": {"verbosity": -1},
    "authentication": {"webhok": {}},
}
RIGHT_FIELDS: dict[str, Any] = {
    "maxPods": 7,
    "failSwapOn": False,
    "kubeAPIQPS": 9,
    "cgroupDriver": "systemd",
    "address": "0.0.0.0",
    "fileCheckFrequency": "5s",
    "podCIDR": "10.1.0.0/16",
}
FLAGS = (
    "--runtime=cri",
    "--runtime=hollow",
    "--runtime=nonsense",
    "--v=x",
    "--max-pods=9",
    "--node-labels=kubernetes.io/x=y",
    "--standalone",
    "--kubeconfig=/k",
    "--enable-chaos",
    "--address=0.0.0.0",
    "--hollow-seed=1",
    "--adopt-static-pods",
    "--fail-swap-on",
    "--nonsense",
)


def written(folder: Path, fields: Mapping[str, Any], name: str = "kubelet.json") -> Path:
    """Write a configuration file with ``fields``, one in each line from the fourth on."""
    path = folder / name
    path.write_text(json.dumps({"apiVersion": API_VERSION, "kind": KIND, **fields}, indent=1))
    return path


def starts(arguments: list[str]) -> bool:
    """Return whether the loader takes them."""
    try:
        load_settings(parse(arguments))
    except UsageError:
        return False
    return True


def told(explanation: Explanation) -> dict[str, ExplainedSetting]:
    """Return what is said, by the names of fields and flags."""
    return {each.name: each for each in explanation.settings}


def less(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return ``fields`` without that at the path ``name``."""
    first, _, rest = name.partition(".")
    kept = {key: value for key, value in fields.items() if key != first}
    return {**kept, first: less(fields[first], rest)} if rest and first in fields else kept


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wrong=st.sets(st.sampled_from(sorted(WRONG_FIELDS)), max_size=4),
    right=st.sets(st.sampled_from(sorted(RIGHT_FIELDS)), max_size=3),
    flags=st.lists(st.sampled_from(FLAGS), max_size=3, unique=True),
)
@example(
    wrong={"authentication", "containerRuntimeEndpoint"},
    right=set(),
    flags=["--adopt-static-pods"],
)
def test_what_is_refused_keeps_the_agent_from_starting_and_nothing_else_does(
    wrong: set[str], right: set[str], flags: list[str], tmp_path: Path
) -> None:
    fields = {name: RIGHT_FIELDS[name] for name in right} | {n: WRONG_FIELDS[n] for n in wrong}
    arguments = [f"--config={written(tmp_path, fields)}", *flags]
    found = explained(arguments)

    assert bool(found.refusals) == (not starts(arguments))

    refused = {each.name for each in found.settings if each.fate is SettingFate.REFUSED}
    about_all = len(found.refusals) > len(refused)
    for name in refused:
        fields = less(fields, name)
    flags = [each for each in flags if each.partition("=")[0] not in refused]
    arguments = [f"--config={written(tmp_path, fields)}", *flags]
    assert starts(arguments) or about_all


@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_a_field_that_is_refused_is_told_with_its_line_and_the_loader_s_sentence(
    tmp_path: Path, name: str
) -> None:
    path = written(tmp_path, {"fileCheckFrequency": "1s", name: WRONG_FIELDS[name]})
    arguments = [f"--config={path}", "--runtime=cri"]
    sentence = refusal(lambda: load_settings(parse(arguments)))
    found = explained(arguments)

    assert found.refusals == (sentence,)
    [refused] = [each for each in found.settings if each.fate is SettingFate.REFUSED]
    assert refused.name.startswith(name)
    assert refused.why in sentence
    assert refused.value is None
    assert refused.line in {5, 6}
    assert refused.file == str(path)


def test_each_wrong_thing_is_told_and_not_the_first_alone(tmp_path: Path) -> None:
    path = written(tmp_path, {"maxPods": "x", "clusterDNS": ["dns"], "podLogsDir": "logs"})
    found = explained([f"--config={path}", "--runtime=cri", "--v=x", "--hollow-seed=1"])
    assert {name for name, each in told(found).items() if each.fate is SettingFate.REFUSED} == {
        "maxPods",
        "clusterDNS",
        "podLogsDir",
        "--v",
        "--hollow-seed",
    }
    assert len(found.refusals) == 5
    assert found.warnings == ()


def test_whoever_names_a_wrong_socket_is_told_of_containers_all_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, {"containerRuntimeEndpoint": "http://x", "clusterDNS": ["dns"]})
    found = explained([f"--config={path}"])
    assert {name for name, each in told(found).items() if each.fate is SettingFate.REFUSED} == {
        "containerRuntimeEndpoint",
        "clusterDNS",
    }


def test_a_kubelet_s_file_has_a_reason_for_each_field_that_is_ignored() -> None:
    found = explained([f"--config={CONFIGURATIONS / 'kubeadm.yaml'}", "--runtime=hollow"])
    rows = told(found)
    assert (found.refusals, found.situation.is_joined) == ((), False)
    assert [
        each.name for each in found.settings if each.fate is SettingFate.IGNORED and not each.why
    ] == []
    assert (rows["staticPodPath"].fate, rows["staticPodPath"].line) == (SettingFate.OBEYED, 47)
    assert rows["rotateCertificates"].why == (
        "credentials are those of --kubeconfig, read again when they change"
    )
    assert rows["nodeStatusUpdateFrequency"].why == "only a node of a cluster has a use for it"
    assert rows["clusterDNS"].why == "it has an effect with --runtime cri alone"
    assert rows["fileCheckFrequency"].in_effect == "2s"


def test_in_a_cluster_and_with_containers_the_same_fields_are_obeyed() -> None:
    file = f"--config={CONFIGURATIONS / 'kubeadm.yaml'}"
    rows = told(explained([file, "--kubeconfig=/k", "--runtime=cri"]))
    for name in ("nodeStatusUpdateFrequency", "clusterDNS", "cgroupDriver", "--kubeconfig"):
        assert rows[name].fate is SettingFate.OBEYED


def test_what_wins_over_a_field_is_named(tmp_path: Path) -> None:
    base = written(tmp_path, {"maxPods": 1, "podsPerCore": 2, "evictionHard": {}})
    drop_ins = tmp_path / "drop-ins"
    drop_ins.mkdir()
    over = written(drop_ins, {"podsPerCore": 3, "evictionHard": {}}, "10.conf")
    found = explained([f"--config={base}", f"--config-dir={drop_ins}", "--max-pods=9"])
    why = [(each.name, each.fate, each.why) for each in found.settings if each.file == str(base)]
    assert why[2:] == [
        ("maxPods", SettingFate.IGNORED, "--max-pods wins over it"),
        ("podsPerCore", SettingFate.IGNORED, f"{over} wins over it"),
        ("evictionHard", SettingFate.OBEYED, ""),  # both are merged
    ]
    assert found.files == (str(base), str(over))


NEEDS = "without a cluster it needs authentication.x509.clientCAFile"
TLS_FIELDS = {
    "enableServer": True,
    "tlsMinVersion": "VersionTLS12",
    "authentication": {"webhook": {"cacheTTL": "5s"}, "anonymous": {"enabled": True}},
}


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ([], NEEDS),
        (["--port=0"], NEEDS),
        (["--port=0", "--client-ca-file=/ca"], "port is 0"),
        (["--port=0", "--kubeconfig=/k"], "port is 0"),
        (["--enable-server=false"], "enableServer is false"),
        (["--enable-server=false", "--kubeconfig=/k"], "enableServer is false"),
    ],
)
def test_it_is_told_why_the_tls_port_is_closed(tmp_path: Path, flags: list[str], why: str) -> None:
    told_of = told(explained([f"--config={written(tmp_path, TLS_FIELDS)}", *flags]))
    assert told_of["tlsMinVersion"].why == f"the TLS port is closed: {why}"
    assert told_of["authentication.anonymous.enabled"].fate is SettingFate.IGNORED
    others = {each.name: each for each in explained(flags).others}
    port = others.get("port") or others["enableServer"]
    assert (port.why, port.in_effect) == (f"the TLS port is closed: {why}", None)


@pytest.mark.parametrize("flag", ["--kubeconfig=/k", "--client-ca-file=/ca"])
def test_where_the_tls_port_is_open_its_fields_are_obeyed(tmp_path: Path, flag: str) -> None:
    fields = {**TLS_FIELDS, "address": "0.0.0.0"}
    found = explained([f"--config={written(tmp_path, fields)}", flag])
    rows = told(found)
    for name in ("enableServer", "tlsMinVersion", "authentication.anonymous.enabled", "address"):
        assert (rows[name].fate, rows[name].why) == (SettingFate.OBEYED, "")
    assert {each.name: each.in_effect for each in found.others}["port"] == 10250


def test_what_closes_the_tls_port_is_obeyed() -> None:
    for typed in ("--port=0", "--enable-server=false"):
        for more in ([], ["--kubeconfig=/k"]):
            rows = told(explained([typed, *more]))
            assert rows[typed.partition("=")[0]].fate is SettingFate.OBEYED


@pytest.mark.parametrize(
    ("port", "why"),
    [
        (10255, "the read-only port listens on 127.0.0.1: --allow-non-loopback insists"),
        (0, "the TLS port and the read-only port are closed"),
    ],
)
def test_an_address_without_a_tls_port_is_nobody_s(tmp_path: Path, port: int, why: str) -> None:
    path = written(tmp_path, {"address": "0.0.0.0", "readOnlyPort": port})
    assert told(explained([f"--config={path}"]))["address"].why == why


def test_a_field_is_told_once_by_itself_or_by_its_flag() -> None:
    found = explained(["--kubeconfig=/k", "--register-node=false", "--max-pods=x"])
    assert told(found)["--register-node"].in_effect is False
    others = {each.name for each in found.others}
    assert set(FIELDS) - others == {"registerNode"}


def test_a_field_that_nobody_sets_is_told_as_it_is_in_effect(tmp_path: Path) -> None:
    path = written(tmp_path, {"maxParallelImagePulls": 4})
    found = explained([f"--config={path}", "--runtime=cri"])
    assert {each.name: each.in_effect for each in found.others}["serializeImagePulls"] is False


def test_headers_without_an_address_to_ask_are_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, {"staticPodURLHeader": {"X": ["hunter2"]}})
    assert told(explained([f"--config={path}"]))["staticPodURLHeader"].why == (
        "staticPodURL is not set"
    )


def test_flags_of_a_kubelet_s_unit_are_explained_too() -> None:
    rows = told(explained(["--fail-swap-on=false", "--max-pods=5", "--node-ip=10.0.0.1"]))
    assert (rows["--fail-swap-on"].fate, rows["--fail-swap-on"].why) == (
        SettingFate.IGNORED,
        "swap is not looked at",
    )
    assert (rows["--max-pods"].fate, rows["--max-pods"].field) == (SettingFate.OBEYED, "maxPods")
    assert (rows["--max-pods"].value, rows["--max-pods"].in_effect) == ("5", 5)
    assert rows["--node-ip"].why == "only a node of a cluster has a use for it"


def test_no_secret_is_told(tmp_path: Path) -> None:
    secrets = {
        "staticPodURL": "http://hunter2:hunter2@host/?hunter2",
        "staticPodURLHeader": {"Authorization": ["hunter2"]},
    }
    flags = [
        "--manifest-url=http://hunter2@host",
        "--manifest-url-header=a:hunter2",
        "--storage-driver-password=hunter2",
        "--v=hunter2",
    ]
    for given_fields in (
        secrets,
        {"staticPodURLHeader": ["hunter2"], "staticPodURL": "ftp://u:hunter2@h"},
    ):
        for typed in ([], flags):
            found = explained([f"--config={written(tmp_path, given_fields)}", *typed])
            shown = [(each.value, each.in_effect, each.why) for each in found.settings]
            assert "hunter2" not in repr((found, shown))


@pytest.mark.parametrize("text", ["", "a: [", "kind: Pod\n", "- a\n"])
def test_a_file_that_is_no_configuration_is_refused_as_a_whole(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(text)
    found = explained([f"--config={path}", "--max-pods=3"])
    assert found.refusals == (refusal(lambda: load_settings(parse([f"--config={path}"]))),)
    assert told(found)["--max-pods"].fate is SettingFate.OBEYED


def test_a_file_that_cannot_be_read_is_no_explanation(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file or directory"):
        explained([f"--config={tmp_path / 'none'}"])


def test_a_node_that_was_not_told_what_runs_pods_runs_them_in_containers() -> None:
    found = explained(["--kubeconfig=/k", "--node-ip=10.0.0.1"])
    assert found.refusals == ()
    assert found.situation == Situation(is_joined=True, runtime=RuntimeKind.CRI)
    assert told(found)["--node-ip"].fate is SettingFate.OBEYED


def test_without_a_file_every_field_is_known_with_what_is_in_effect() -> None:
    found = explained([])
    others = {each.name: each for each in found.others}
    assert found.settings == ()
    assert set(others) == set(FIELDS)
    assert others["readOnlyPort"].in_effect == 10255
    assert others["clusterDNS"].fate is SettingFate.OBEYED
    assert others["podCIDR"].fate is SettingFate.IGNORED


def test_every_field_is_obeyed_somewhere_or_has_a_reason_and_none_has_both() -> None:
    somewhere = {row.field for row in ROWS.values() if row.field}
    assert somewhere | set(REASONS) == FIELDS.keys() - {"apiVersion", "kind"}
    assert somewhere & set(REASONS) == set()


def test_every_refusal_of_the_loader_says_what_has_to_be_mended() -> None:
    """Otherwise all that could be told is that something is wrong."""
    before_it = {"errors.py", "command_line.py", "configuration_file.py"}
    modules = [path for path in (ROOT / "settings").glob("*.py") if path.name not in before_it]
    silent = [
        ast.unparse(node.args[0])[:30]
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "UsageError"
        if not any(each.arg == "at" for each in node.keywords)
    ]
    assert silent == []
