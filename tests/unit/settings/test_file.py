"""KubeletConfiguration files: what is read, and what is said of a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from settings.configuration_file import (
    ConfigurationFile,
    drop_ins,
    merged,
    read_configuration,
)
from settings.errors import StartError, UsageError

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a configuration file and return its path."""

    def written(text: str) -> Path:
        path = tmp_path / "kubelet.yaml"
        path.write_text(text)
        return path

    return written


def complaint(path: Path, code: int = 2) -> str:
    """Return what reading ``path`` fails with."""
    with pytest.raises(StartError) as caught:
        read_configuration(path)
    assert caught.value.exit_code == code
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_only_what_a_file_sets_is_given(write: Write) -> None:
    path = write(HEAD + "fileCheckFrequency: 90s\nlogging: {verbosity: 3}\n")
    assert read_configuration(path) == ConfigurationFile(
        given={
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "fileCheckFrequency": "1m30s",
            "logging": {"verbosity": 3},
        }
    )


def test_json_indented_with_tabs_is_read(write: Write) -> None:
    path = write(
        '\n{\n\t"kind": "KubeletConfiguration",\n'
        '\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"maxPods": 7\n}\n'
    )
    assert read_configuration(path).given["maxPods"] == 7


def test_null_means_unset(write: Write) -> None:
    path = write(HEAD + "syncFrequency: null\nlogging: {format: ~}\nstaticPodPath:\n")
    assert read_configuration(path).given.keys() == {"apiVersion", "kind", "logging"}


def test_a_static_pod_path_starts_where_the_file_is(write: Write, tmp_path: Path) -> None:
    path = write(HEAD + "staticPodPath: manifests/pods\n")
    assert read_configuration(path).given["staticPodPath"] == str(tmp_path / "manifests/pods")


def test_an_absolute_static_pod_path_stays(write: Write) -> None:
    path = write(HEAD + "staticPodPath: /etc/kubernetes/manifests\n")
    assert read_configuration(path).given["staticPodPath"] == "/etc/kubernetes/manifests"


def test_numbers_are_read_where_kubernetes_reads_them(write: Write) -> None:
    path = write(
        HEAD
        + "logging: {flushFrequency: 5000000000, options: {json: {infoBufferSize: 0}}}\n"
        + "reservedMemory: [{numaNode: 0, limits: {memory: 1}}]\n"
    )
    given = read_configuration(path).given
    assert given["logging"] == {
        "flushFrequency": "5s",
        "options": {"json": {"infoBufferSize": "0"}},
    }
    assert given["reservedMemory"] == [{"numaNode": 0, "limits": {"memory": "1"}}]


def test_merge_keys_and_aliases_are_read_as_yaml_means_them(write: Write) -> None:
    path = write(
        HEAD
        + "systemReserved: &reserved {cpu: 100m, memory: 1Gi}\n"
        + "kubeReserved: {<<: *reserved, cpu: 200m}\n"
        + "evictionHard: *reserved\n"
    )
    file = read_configuration(path)
    assert file.given["kubeReserved"] == {"cpu": "200m", "memory": "1Gi"}
    assert file.warnings == ()


def test_the_last_of_a_repeated_field_counts_and_is_warned_of(write: Write) -> None:
    path = write(
        HEAD
        + "healthzPort: 1\nhealthzPort: 2\nregisterWithTaints:\n- key: a\n  value: b\n  key: c\n"
    )
    file = read_configuration(path)
    assert file.given["healthzPort"] == 2
    places = {warning.partition(":")[0] for warning in file.warnings}
    assert places == {"healthzPort (line 4)", "registerWithTaints[0].key (line 8)"}


def test_only_the_first_document_counts_and_the_others_are_warned_of(write: Write) -> None:
    file = read_configuration(write(f"{HEAD}maxPods: 1\n---\n{HEAD}maxPods: 2\n"))
    assert file.given["maxPods"] == 1
    assert "only the first document counts" in file.warnings[0]


@pytest.mark.parametrize("ending", ["---\n", "...\n", "--- \n# nothing\n"])
def test_an_empty_document_beside_the_only_one_is_no_second(write: Write, ending: str) -> None:
    assert "maxPods" in read_configuration(write(f"---\n{HEAD}maxPods: 1\n{ending}")).given


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("authentication:\n  webhok: {}\n", "line 4: unknown field authentication.webhok"),
        ("statcPodPath: /x\n", "line 3: unknown field statcPodPath (did you mean staticPodPath?)"),
        ("zzz: 1\n", "line 3: unknown field zzz"),
        ("port: '10250'\n", "line 3: port should be a valid integer"),
        ("port: 65536\n", "line 3: port should be less than or equal to 65535"),
        ("readOnlyPort: -1\n", "readOnlyPort should be greater than or equal to 0"),
        ("maxPods: -1\n", "maxPods should be greater than or equal to 0"),
        ("maxPods: 1.5\n", "maxPods should be a valid integer"),
        ("maxPods: true\n", "maxPods should be a valid integer"),
        ("eventBurst: 2147483648\n", "eventBurst should be less than 2147483648"),
        ("enableServer: 'true'\n", "enableServer should be a valid boolean"),
        ("clusterDomain: 1\n", "clusterDomain should be a valid string"),
        ("clusterDNS: 10.96.0.10\n", "clusterDNS should be a valid list"),
        ("clusterDNS:\n- a\n- 1\n", "line 5: clusterDNS[1] should be a valid string"),
        ("evictionHard: {memory.available: 5}\n", 'evictionHard["memory.available"] should be a'),
        ("logging: text\n", "logging should be a valid dictionary"),
        ("logging: {format: xml}\n", "line 3: logging.format should be '', 'text' or 'json'"),
        ("logging: {verbosity: -1}\n", "logging.verbosity should be greater than or equal to 0"),
        ("address: localhost\n", "address should be an IP address"),
        ("healthzBindAddress: 127.0.0.1:1\n", "healthzBindAddress should be an IP address"),
        ("fileCheckFrequency: 20\n", "fileCheckFrequency should be a duration such as 20s"),
        ("fileCheckFrequency: 0\n", "fileCheckFrequency should be a duration such as 20s"),
        ("fileCheckFrequency: ''\n", "fileCheckFrequency should be a duration such as 20s"),
        ("fileCheckFrequency: -1s\n", "fileCheckFrequency should be at least 10ms"),
        ("logging: {flushFrequency: x}\n", "flushFrequency should be a duration such as 20s"),
        ("configMapAndSecretChangeDetectionStrategy: watch\n", "should be '', 'Get', 'Cache' or"),
        ("<<: {port: x}\n", "port should be a valid integer"),
        ("1: x\n", 'line 3: unknown field ["1"]'),
    ],
)
def test_a_wrong_field_is_named_with_its_line(write: Write, body: str, said: str) -> None:
    path = write(HEAD + body)
    assert said in complaint(path)
    assert str(path) in complaint(path)


def test_all_wrong_fields_are_told_at_once_in_the_order_of_their_lines(write: Write) -> None:
    path = write(HEAD + "zzz: 1\nport: x\naddress: here\n")
    assert complaint(path) == (
        f"{path}: line 3: unknown field zzz; line 4: port should be a valid integer; "
        "line 5: address should be an IP address"
    )


def test_errors_in_json_name_field_and_line(write: Write) -> None:
    path = write(
        '{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1","port":"x"}'
    )
    assert complaint(path) == f"{path}: line 1: port should be a valid integer"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no document"),
        ("# nothing\n---\n", "there is no document"),
        ("- a\n", "not a KubeletConfiguration: not an object with fields"),
        ("text\n", "not a KubeletConfiguration: not an object with fields"),
        ("a: 1\n", "kind is missing, it should be KubeletConfiguration"),
        ("kind: Pod\n", 'kind is "Pod", it should be KubeletConfiguration'),
        ("kind: 5\n", "kind is missing, it should be KubeletConfiguration"),
        ("kind: KubeletConfiguration\n", "apiVersion is missing, it should be kubelet.config.k8s"),
        ("kind: KubeletConfiguration\napiVersion: v1\n", 'apiVersion is "v1", it should be'),
        ("a: [1\nb: 2\n", "line 2: not YAML"),
        ("a: *nothing\n", "line 1: "),
        ("a: !!python/name:os.system x\n", "line 1: "),
        ("? [a, b]\n: c\n", "line 1: "),
        ("a\0b\n", "not YAML"),
        ('{\n"a": }', "line 2: not JSON"),
        ("[" * 5000, "levels deep"),
        ('{"a":' * 100000, "levels deep"),
    ],
)
def test_a_file_that_is_no_configuration_gets_one_sentence(
    write: Write, text: str, said: str
) -> None:
    assert said in complaint(write(text))


def test_bytes_that_are_no_text_get_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_bytes(b"kind: \xff\xfe\n")
    assert complaint(path) == f"{path}: line 1: not UTF-8"


def test_a_long_kind_is_cut(write: Write) -> None:
    assert "x" * 64 not in complaint(write(f"kind: {'x' * 100}\n"))


@pytest.mark.parametrize(
    "body",
    [
        "staticPodURLHeader: {Authorization: hunter2}\n",
        "staticPodURLHeader: {Authorization: [{a: hunter2}]}\n",
        "staticPodURLHeader: [hunter2]\n",
        "staticPodURL: {hunter2: hunter2}\n",
    ],
)
def test_the_value_of_a_wrong_field_is_not_told(write: Write, body: str) -> None:
    assert "hunter2" not in complaint(write(HEAD + body))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert complaint(path, code=1) == (
        f"cannot read the configuration file {path}: No such file or directory"
    )


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    assert complaint(tmp_path, code=1).endswith(": Is a directory")


def test_drop_ins_are_read_in_the_order_of_their_names_and_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "20-b.conf").write_text(HEAD + "maxPods: 2\n")
    (tmp_path / "10-a.conf").write_text(HEAD + "maxPods: 1\n")
    (tmp_path / "15-sub").mkdir()
    (tmp_path / "15-sub" / "x.conf").write_text(HEAD + "maxPods: 15\n")
    (tmp_path / "30-c.yaml").write_text("not read\n")
    assert [read_configuration(each).given["maxPods"] for each in drop_ins(tmp_path)] == [1, 15, 2]


def test_a_missing_drop_in_folder_is_named(tmp_path: Path) -> None:
    said = r"cannot read the drop-in folder .*none: No such file"
    with pytest.raises(StartError, match=said) as caught:
        list(drop_ins(tmp_path / "none"))
    assert caught.value.exit_code == 1


def test_a_wrong_drop_in_is_named(tmp_path: Path) -> None:
    (tmp_path / "10-a.conf").write_text("maxPods: 1\n")
    with pytest.raises(UsageError, match=r"10-a\.conf: not a KubeletConfiguration"):
        list(map(read_configuration, drop_ins(tmp_path)))


def test_objects_are_merged_field_by_field_and_all_else_is_replaced() -> None:
    base = {"a": 1, "logging": {"format": "text", "verbosity": 1}, "list": [1, 2], "x": {"y": 1}}
    over = {"logging": {"verbosity": 2}, "list": [3], "x": 5, "new": {"z": 1}}
    assert merged(base, over) == {
        "a": 1,
        "logging": {"format": "text", "verbosity": 2},
        "list": [3],
        "x": 5,
        "new": {"z": 1},
    }
    assert base["logging"] == {"format": "text", "verbosity": 1}
