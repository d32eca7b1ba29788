"""What the files of a volume are, and what keeps it from having them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from actors.volumes.content.files import Payload, VolumeFile
from actors.volumes.content.making import (
    VolumeContent,
    VolumeSituation,
    objects_shown,
    tokens_of,
    volume_content,
)
from messages.objects import ObjectId, ObjectKind, ObjectValue
from messages.pods import Pod
from messages.tokens import TokenNeeded
from tests.support.builders import make_pod
from tests.support.volumes.contents import config_map, local, secret

SETTINGS: Final = config_map("settings", {"a.conf": b"one", "b.conf": b"two"}, {"logo": b"\xff\0"})
TLS: Final = secret("tls", {"tls.crt": b"cert", "tls.key": b"hunter2"})
OBJECTS: Final = {**SETTINGS, **TLS}
TOKEN: Final = TokenNeeded(audience="vault", expiration_seconds=600, path="token")
POD: Final = make_pod(
    labels={"app": "shop", "a/b": "c"},
    annotations={"note": 'say "hi"\n\tä\x01\u00a0\U0001f600\U000e0001', "n2": "\\"},
)


def made(volume: Mapping[str, Any], pod: Pod = POD, **known: Any) -> VolumeContent:
    return volume_content(volume, VolumeSituation(pod=pod, **({"objects": OBJECTS} | known)))


def files(volume: Mapping[str, Any], **known: Any) -> dict[str, tuple[bytes, int]]:
    content = made(volume, **known)
    assert content.trouble == ""
    assert content.payload is not None
    return {path: (each.data, each.mode) for path, each in content.payload.files.items()}


def projected(*sources: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "v", "projected": {"sources": list(sources), **more}}


def secured(fs_group: int | None = None, user: int | None = None) -> Pod:
    context = {"fsGroup": fs_group, "runAsUser": user}
    return make_pod(spec={"securityContext": context, "containers": [{"name": "main"}]})


def test_every_key_of_an_object_is_a_file() -> None:
    assert files({"configMap": {"name": "settings"}}) == {
        "a.conf": (b"one", 0o644),
        "b.conf": (b"two", 0o644),
        "logo": (b"\xff\0", 0o644),
    }
    assert files({"secret": {"secretName": "tls", "defaultMode": 0o400}}) == {
        "tls.crt": (b"cert", 0o400),
        "tls.key": (b"hunter2", 0o400),
    }


def test_items_pick_keys_give_them_paths_and_modes() -> None:
    items = [
        {"key": "a.conf", "path": "etc//app/./a", "mode": 0o600},
        {"key": "logo", "path": "logo.png"},
        {"key": "a.conf", "path": "again"},
    ]
    source = {"name": "settings", "items": items, "defaultMode": 0o444}
    assert files({"configMap": source}) == {
        "etc/app/a": (b"one", 0o600),
        "logo.png": (b"\xff\0", 0o444),
        "again": (b"one", 0o444),
    }


@pytest.mark.parametrize(
    ("volume", "sentence"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "settings", "items": [{"key": "c", "path": "c"}]}},
            'configmap "settings" references non-existent config key: c',
        ),
        (
            {"secret": {"secretName": "tls", "items": [{"key": "c", "path": "c"}]}},
            'secret "tls" references non-existent secret key: c',
        ),
        (
            projected({"secret": {"name": "none"}}, {"configMap": {"name": "gone"}}),
            '[secret "none" not found, configmap "gone" not found]',
        ),
        (
            projected({"serviceAccountToken": {"path": "token"}}),
            "failed to fetch token: it is not there yet",
        ),
    ],
)
def test_what_is_missing_is_named(volume: dict[str, Any], sentence: str) -> None:
    content = made(volume)
    assert (content.payload, content.refusal, content.trouble) == (None, "", sentence)


def test_without_an_optional_object_or_key_there_are_fewer_files() -> None:
    assert files({"secret": {"secretName": "none", "optional": True}}) == {}
    items = [{"key": "c", "path": "c"}, {"key": "a.conf", "path": "a"}]
    source = {"name": "settings", "items": items, "optional": True}
    assert files({"configMap": source}) == {"a": (b"one", 0o644)}


def test_an_object_that_cannot_be_read_may_be_there_even_if_it_is_optional() -> None:
    wanted = local(ObjectKind.SECRET, "hidden")
    source = {"secretName": "hidden", "optional": True}
    content = made({"secret": source}, unread={wanted: "may not be read by this node"})
    assert content.trouble == 'secret "hidden" may not be read by this node'


def test_an_object_of_the_api_server_is_not_one_of_local_files() -> None:
    source = {"secret": {"secretName": "tls"}}
    assert made(source, make_pod(source="api")).trouble == 'secret "tls" not found'


def test_later_sources_override_earlier_ones() -> None:
    volume = projected(
        {"configMap": {"name": "settings"}},
        {"secret": {"name": "tls", "items": [{"key": "tls.key", "path": "a.conf", "mode": 0o400}]}},
        {"downwardAPI": {"items": [{"path": "who", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {},
        defaultMode=0o640,
    )
    assert files(volume) == {
        "a.conf": (b"hunter2", 0o400),
        "b.conf": (b"two", 0o640),
        "logo": (b"\xff\0", 0o640),
        "who": (b"web", 0o640),
    }


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "default"),
        ("metadata.uid", "uid-default-web"),
        ("metadata.labels", 'a/b="c"\napp="shop"'),
        ("metadata.labels['app']", "shop"),
        ("metadata.annotations['none']", ""),
    ],
)
def test_fields_of_the_pod_are_files(path: str, text: str) -> None:
    volume = {"downwardAPI": {"items": [{"path": "f", "fieldRef": {"fieldPath": path}}]}}
    assert files(volume) == {"f": (text.encode(), 0o644)}


def test_annotations_are_written_as_a_kubelet_quotes_them() -> None:
    item = {"path": "f", "fieldRef": {"fieldPath": "metadata.annotations"}}
    text = files({"downwardAPI": {"items": [item]}})["f"][0].decode()
    assert text.splitlines()[-2:] == [
        'n2="\\\\"',
        r'note="say \"hi\"\n\tä\x01\u00a0' + "\U0001f600" + r'\U000e0001"',
    ]
    half = make_pod(labels={"l": "\ud800"})
    item = {"path": "f", "fieldRef": {"fieldPath": "metadata.labels"}}
    assert files({"downwardAPI": {"items": [item]}}, pod=half)["f"][0].decode() == 'l="\ufffd"'


def test_pods_without_labels_have_an_empty_file_of_them() -> None:
    item = {"path": "f", "fieldRef": {"fieldPath": "metadata.labels"}}
    assert files({"downwardAPI": {"items": [item]}}, pod=make_pod()) == {"f": (b"", 0o644)}


def test_amounts_of_a_container_are_files() -> None:
    main = {"name": "main", "resources": {"requests": {"cpu": "125m"}}}
    pod = make_pod(spec={"containers": [main]})

    def amount(resource: str, divisor: str, name: str = "main") -> VolumeContent:
        reference = {"containerName": name, "resource": resource, "divisor": divisor}
        item = {"path": "cpu", "resourceFieldRef": reference, "mode": 0o600}
        return made({"downwardAPI": {"items": [item]}}, pod, allocatable={"cpu": "4"})

    assert amount("requests.cpu", "1m").payload == Payload(files={"cpu": VolumeFile(b"125", 0o600)})
    assert amount("limits.cpu", "1").payload == Payload(files={"cpu": VolumeFile(b"4", 0o600)})
    assert amount("limits.cpu", "1", "none").missing == ("container none not found",)


def test_a_token_is_somebody_elses_to_get() -> None:
    account = {
        "serviceAccountToken": {"audience": "vault", "expirationSeconds": 600, "path": "token"}
    }
    volume = projected(account, {"secret": {"name": "tls"}})
    assert tokens_of(volume) == (TOKEN,)
    assert tokens_of({"secret": {}}) == ()
    assert made(volume, token_troubles={TOKEN: "403 Forbidden"}).trouble == (
        "failed to fetch token: 403 Forbidden"
    )
    assert files(volume, tokens={TOKEN: b"jwt"})["token"] == (b"jwt", 0o644)
    (usual,) = tokens_of(projected({"serviceAccountToken": {"path": "./t"}}))
    assert usual == TokenNeeded(audience="", expiration_seconds=3600, path="t")


@pytest.mark.parametrize(
    ("pod", "file"),
    [
        (secured(), VolumeFile(b"jwt", 0o644)),
        (secured(user=1000), VolumeFile(b"jwt", 0o600, 1000)),
        (secured(fs_group=7), VolumeFile(b"jwt", 0o640)),
        (secured(fs_group=7, user=1000), VolumeFile(b"jwt", 0o640, 1000)),
    ],
)
def test_a_token_is_for_the_user_and_the_group_of_the_pod(pod: Pod, file: VolumeFile) -> None:
    account = {
        "serviceAccountToken": {"audience": "vault", "expirationSeconds": 600, "path": "token"}
    }
    content = made(projected(account), pod, tokens={TOKEN: b"jwt"})
    assert content.payload is not None
    assert content.payload.files == {"token": file}


def test_containers_of_several_users_have_no_user_in_common() -> None:
    def token(*users: int | None) -> VolumeFile:
        containers = [
            {"name": f"c{number}", "securityContext": {"runAsUser": user}}
            for number, user in enumerate(users)
        ]
        spec = {"containers": containers[:1], "initContainers": containers[1:]}
        volume = projected(
            {
                "serviceAccountToken": {
                    "audience": "vault",
                    "expirationSeconds": 600,
                    "path": "token",
                }
            }
        )
        payload = made(volume, make_pod(spec=spec), tokens={TOKEN: b"jwt"}).payload
        assert payload is not None
        return payload.files["token"]

    assert token(5, 5).user == 5
    assert token(0, 0).user == 0
    assert token(5, 6).user is None
    assert token(5, None).user is None


def test_a_group_reads_every_file() -> None:
    source = {"secretName": "tls", "defaultMode": 0o400}
    content = made({"secret": source}, secured(fs_group=7))
    assert content.payload is not None
    assert content.payload.group == 7
    assert {each.mode for each in content.payload.files.values()} == {0o440}


@pytest.mark.parametrize(
    ("volume", "sentence"),
    [
        ({"emptyDir": {}}, "it is of none of the kinds configMap, secret, downwardAPI, projected"),
        (projected({"clusterTrustBundle": {}}), "a projected clusterTrustBundle is not supported"),
        (projected({"podCertificate": {}}), "a projected podCertificate is not supported"),
        ({"secret": {}}, "a Secret is shown that is not named"),
        (
            {"configMap": {"name": "settings", "defaultMode": 0o1000}},
            "defaultMode must be a file mode between 0 and 0777",
        ),
        (
            {
                "configMap": {
                    "name": "settings",
                    "items": [{"key": "logo", "path": "l", "mode": -1}],
                }
            },
            "mode must be a file mode between 0 and 0777",
        ),
        (
            {"downwardAPI": {"items": [{"path": "f", "fieldRef": {"fieldPath": "status.podIP"}}]}},
            "unsupported fieldPath: status.podIP",
        ),
        (
            {"downwardAPI": {"items": [{"path": "f"}]}},
            "an item of downwardAPI names no field that is known here",
        ),
        (
            projected({"serviceAccountToken": {"path": "t", "expirationSeconds": 0}}),
            "serviceAccountToken: expirationSeconds must be a number above 0",
        ),
    ],
)
def test_what_can_never_be_is_refused(volume: dict[str, Any], sentence: str) -> None:
    content = made(volume)
    assert (content.payload, content.missing, content.trouble) == (None, (), sentence)
    assert tokens_of(volume) == ()


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("", "must not be empty"),
        ("./", "must not be empty"),
        ("/etc/passwd", 'must be a relative path: "/etc/passwd"'),
        ("../../evil", "must not contain '..': \"../../evil\""),
        ("a/../b", "must not contain '..': \"a/../b\""),
        ("..data", "must not begin with '..': \"..data\""),
        ("./..data", "must not begin with '..': \"..data\""),
        ("..data_tmp/a", "must not begin with '..': \"..data_tmp/a\""),
        ("x" * 300, f'filenames must be less than or equal to 255 bytes: "{"x" * 63}…"'),
        ("ä" * 128, f'filenames must be less than or equal to 255 bytes: "{"ä" * 63}…"'),
        ("a\0b", r'must not contain a NUL: "a\x00b"'),
        ("\ud800", 'must be UTF-8: "?"'),
        ("/".join("a" * 70), f'must have at most 64 directories: "{("a/" * 32)[:63]}…"'),
        ("abc/" * 1025 + "a", f'must be less than or equal to 4096 bytes: "{("abc/" * 16)[:63]}…"'),
    ],
)
def test_a_path_that_no_file_may_have_is_refused(path: str, wrong: str) -> None:
    item = {"key": "logo", "path": path}
    content = made({"configMap": {"name": "settings", "items": [item]}})
    assert content.refusal == f"invalid path: {wrong}"
    token = {"audience": "vault", "expirationSeconds": 600, "path": path}
    (needed,) = tokens_of(projected({"serviceAccountToken": token}))
    content = made(projected({"serviceAccountToken": token}), tokens={needed: b"jwt"})
    assert content.refusal == f"invalid path: {wrong}"


def test_paths_of_three_dots_and_of_the_longest_names_are_files() -> None:
    for path in (".a", "a..b", "a/..b", "ä" * 127, "/".join(["a" * 200] * 20), "a/" * 64 + "a"):
        item = {"key": "logo", "path": path}
        assert set(files({"configMap": {"name": "settings", "items": [item]}})) == {path}


def test_keys_that_are_links_of_the_volume_itself_keep_it_from_being_shown() -> None:
    for key in ("..data", "..2030_01_01_00_00_00.1", "../x"):
        content = made({"secret": {"secretName": "odd"}}, objects=secret("odd", {key: b"v"}))
        assert content.trouble.startswith("invalid path: must not ")
        assert content.refusal == ""


def test_a_path_is_not_a_file_and_a_directory() -> None:
    items = [{"key": "logo", "path": "a/b"}, {"key": "logo", "path": "a-"}]
    volume = projected(
        {"configMap": {"name": "settings", "items": items}},
        {"configMap": {"name": "settings", "items": [{"key": "logo", "path": "a"}]}},
    )
    assert made(volume).trouble == 'invalid path: "a" is a file and a directory'


def test_a_thousand_keys_of_a_large_object_are_files() -> None:
    data = {f"key-{number}": bytes(1000) for number in range(1000)}
    assert len(files({"configMap": {"name": "large"}}, objects=config_map("large", data))) == 1000


def test_a_volume_shows_the_objects_of_its_files() -> None:
    volume = projected(
        {"configMap": {"name": "settings", "optional": True}},
        {"secret": {"name": "tls"}},
        {"serviceAccountToken": {"path": "token"}},
    )
    assert set(objects_shown(POD, volume)) == set(OBJECTS)
    assert objects_shown(POD, {"secret": {"secretName": "tls"}}) == tuple(TLS)
    assert objects_shown(POD, {"iscsi": {"secretRef": {"name": "tls"}}}) == ()
    assert objects_shown(POD, {"emptyDir": {}}) == ()
    assert objects_shown(make_pod(source="api"), {"secret": {"secretName": "tls"}}) == (
        ObjectId(kind=ObjectKind.SECRET, namespace="default", name="tls"),
    )


def test_no_value_is_in_a_repr_or_in_a_sentence() -> None:
    situation = VolumeSituation(pod=POD, objects=TLS, tokens={TOKEN: b"hunter2"})
    content = volume_content({"secret": {"secretName": "tls"}}, situation)
    assert "hunter2" not in repr(situation) + repr(content)
    assert isinstance(TLS[local(ObjectKind.SECRET, "tls")], ObjectValue)
