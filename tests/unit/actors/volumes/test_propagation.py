"""Whether what is mounted below a path of the node can appear in a container, and the other way round."""

from __future__ import annotations

import pytest

from actors.volumes.mounts.mount_table import mounts_of, propagation_trouble

MOUNTS = mounts_of(
    b"""
1 0 8:1 / / rw shared:1 - ext4 /dev/sda rw
2 1 8:2 / /follows rw master:1 - ext4 /dev/sdb rw
3 1 8:3 / /alone rw - ext4 /dev/sdc rw
"""
)


@pytest.mark.parametrize(
    ("path", "wanted", "trouble"),
    [
        ("/data", "Bidirectional", ""),
        ("/data", "HostToContainer", ""),
        ("/follows/data", "HostToContainer", ""),
        ("/follows/data", "Bidirectional", "is not a shared mount"),
        ("/alone/data", "HostToContainer", "is not a shared or slave mount"),
        ("/alone/data", "Bidirectional", "is not a shared mount"),
        ("/alone/data", "None", ""),
    ],
)
def test_a_path_can_be_mounted_if_its_mount_passes_on_what_is_wanted(
    path: str, wanted: str, trouble: str
) -> None:
    told = propagation_trouble(MOUNTS, path, wanted)
    assert bool(told) is bool(trouble)
    assert told.endswith(trouble)


def test_a_path_below_no_known_mount_is_not_refused() -> None:
    assert not propagation_trouble((), "/data", "Bidirectional")
