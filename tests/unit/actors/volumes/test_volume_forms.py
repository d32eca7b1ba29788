"""What each volume of a specification is, and where it goes."""

from __future__ import annotations

from typing import Any

import pytest

from actors.volumes.making.forms import (
    ContentForm,
    EmptyDirForm,
    HostPathForm,
    ImageForm,
    Medium,
    RefusedForm,
    VolumePlugin,
    form_of,
    is_path_part,
    kind_of,
    plugin_of,
    pod_directory,
    ready_marker,
    shows_pod,
    volume_place,
)
from actors.volumes.mounts.host_paths import HostPathType
from messages.pods import PodUid

TOKEN = {"sources": [{"serviceAccountToken": {"path": "token"}}]}


@pytest.mark.parametrize(
    ("volume", "form", "plugin"),
    [
        ({"secret": {}}, ContentForm(VolumePlugin.SECRET), VolumePlugin.SECRET),
        ({"configMap": {}}, ContentForm(VolumePlugin.CONFIG_MAP), VolumePlugin.CONFIG_MAP),
        ({"projected": {}}, ContentForm(VolumePlugin.PROJECTED), VolumePlugin.PROJECTED),
        ({"downwardAPI": {}}, ContentForm(VolumePlugin.DOWNWARD_API), VolumePlugin.DOWNWARD_API),
        ({}, EmptyDirForm(Medium.DISK), VolumePlugin.EMPTY_DIR),
        ({"emptyDir": {}, "secret": None}, EmptyDirForm(Medium.DISK), VolumePlugin.EMPTY_DIR),
        (
            {"emptyDir": {"medium": "Memory", "sizeLimit": "1Ki"}},
            EmptyDirForm(Medium.MEMORY, "Memory", 1024),
            VolumePlugin.EMPTY_DIR,
        ),
        (
            {"emptyDir": {"medium": "HugePages-2Mi", "sizeLimit": 0}},
            EmptyDirForm(Medium.HUGE_PAGES, "HugePages-2Mi"),
            VolumePlugin.EMPTY_DIR,
        ),
        (
            {"hostPath": {"path": "/x", "type": "Socket"}},
            HostPathForm("/x", HostPathType.SOCKET),
            VolumePlugin.HOST_PATH,
        ),
        ({"image": {"reference": "x"}}, ImageForm(), VolumePlugin.IMAGE),
    ],
)
def test_a_volume_is_what_its_field_says(
    volume: dict[str, Any], form: object, plugin: VolumePlugin
) -> None:
    found = form_of({"name": "v", **volume})
    assert found == form
    assert plugin_of(found) is plugin


@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        ({"nfs": {}}, "volumes of the kind nfs are not supported"),
        ({"x" * 300: {}}, f"volumes of the kind {'x' * 80} are not supported"),
        ({"emptyDir": {"sizeLimit": "much"}}, "emptyDir.sizeLimit must be a quantity"),
        ({"emptyDir": {"sizeLimit": "-1"}}, "emptyDir.sizeLimit must be a quantity"),
        ({"emptyDir": {"medium": "Tape"}}, "the medium 'Tape' is not known"),
        ({"hostPath": {"path": "x"}}, 'hostPath.path must be an absolute path without ".."'),
        ({"hostPath": {"path": "/../x"}}, 'hostPath.path must be an absolute path without ".."'),
        ({"hostPath": {"path": "/\0"}}, 'hostPath.path must be an absolute path without ".."'),
        ({"hostPath": {"path": "/", "type": "Odd"}}, "hostPath.type is not known"),
    ],
)
def test_what_there_cannot_be_is_refused_with_a_reason(volume: dict[str, Any], reason: str) -> None:
    refused = form_of({"name": "v", **volume})
    assert refused == RefusedForm(reason)
    assert plugin_of(refused) is None


def test_only_config_maps_are_written_to_the_disk() -> None:
    on_disk = [plugin for plugin in VolumePlugin if not ContentForm(plugin).is_in_memory]
    assert on_disk == [VolumePlugin.CONFIG_MAP]


def test_files_that_say_something_of_the_pod_follow_it() -> None:
    assert shows_pod({"downwardAPI": {}})
    assert shows_pod({"projected": {"sources": [{"secret": {}}, {"downwardAPI": {}}]}})
    assert not shows_pod({"projected": {"sources": [{"secret": {}}]}})
    assert not shows_pod({"secret": {}})
    assert kind_of({"name": "x"}) == "emptyDir"


def test_volumes_are_where_a_kubelet_has_them() -> None:
    uid = PodUid("u")
    place = volume_place("/r", uid, VolumePlugin.SECRET, "s")
    assert place.path == "/r/pods/u/volumes/kubernetes.io~secret/s"
    marker = ready_marker("/r", uid, VolumePlugin.EMPTY_DIR, "e")
    assert marker == "/r/pods/u/plugins/kubernetes.io~empty-dir/e/ready"
    assert pod_directory("/r", uid) == "/r/pods/u"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\nb", "x" * 256, "\ud800" * 256])
def test_a_name_that_is_no_part_of_a_path_is_seen(name: str) -> None:
    assert not is_path_part(name)
    assert is_path_part("x" * 255)
