"""The oracle sees at rest what is left on the disk, and what records say that is not so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.environment.oracle.disk import unlike_disk
from tests.environment.oracle.rule import Wishes
from tests.simulation.rules.by_hand import container
from tests.support.builders import make_pod

RECORD: Final[dict[str, Any]] = {
    "uid": "a-1",
    "resources": {"main": {}},
    "probed": {},
    "digests": {"main": "5f"},
    "ended": None,
    "stoppedBy": None,
}
ENDED: Final = {"ended": {"phase": "Failed"}}


def disk(root: Path, **recorded: Any) -> Path:
    """Return the folder of a node with a pod ``a-1`` that runs, of a container ``main``."""
    for each in ("logs/default_a_a-1/main", "root/pods/a-1/containers/main", "manifests"):
        (root / each).mkdir(parents=True)
    (root / "manifests" / "a.json").write_text("{}")
    write(root / "root/pod-records/a-1.json", {**RECORD, **recorded})
    keep(root, a="{}")
    return root


def write(file: Path, said: Any) -> None:
    """Write a file as the agent does: below a line that names its kind."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"kind 1 digest\n{json.dumps(said)}")


def keep(root: Path, **contents: str) -> None:
    """Write the last good contents of manifests."""
    said = {f"{name}.json": text for name, text in contents.items()}
    page = {"path": str(root / "manifests"), "contents": said}
    write(root / "root/last-good-manifests/60.page", page)


def seen(root: Path, phase: str = "Running") -> list[str]:
    """Return what the oracle says of the disk."""
    pod = make_pod("a", uid="a-1", spec={"containers": [container()]})
    wishes = Wishes(now=lambda: 0.0, pods={"a-1": pod})
    return list(unlike_disk(root, wishes, {"a-1": {"phase": phase}}))


def test_a_static_pod_may_have_the_logs_of_one_before_it(tmp_path: Path) -> None:
    root = disk(tmp_path)
    (root / "logs/default_a_a-0/main").mkdir(parents=True)
    assert seen(root) == []
    (root / "logs/default_a_a-2/main").mkdir(parents=True)
    assert len(seen(root)) == 1


def test_what_is_of_wanted_pods_and_says_what_is_so_is_fine(tmp_path: Path) -> None:
    assert seen(disk(tmp_path / "runs")) == []
    assert seen(disk(tmp_path / "has-ended", **ENDED), "Failed") == []
    assert seen(disk(tmp_path / "was-ended", stoppedBy=1.0), "Failed") == []


@pytest.mark.parametrize(
    "left",
    [
        *("logs/default_b_b-1/main", "logs/default_a_a-1/other"),
        *("pods/b-1/containers/main", "pods/a-1/containers/other"),
    ],
)
def test_a_folder_of_no_wanted_container_is_left(tmp_path: Path, left: str) -> None:
    root = disk(tmp_path)
    (root / ("root" if left.startswith("pods") else "") / left).mkdir(parents=True)
    (said,) = seen(root)
    assert said.endswith(f"{left.partition('/')[2]} is left")


@pytest.mark.parametrize(
    ("recorded", "phase", "said"),
    [
        ({"uid": "b-1"}, "Running", "the record of a-1 is of b-1"),
        ({"digests": {"other": "5f"}}, "Running", "the record of a-1 has digests of ['other']"),
        (ENDED, "Running", "the record of a-1 says that it ended as 'Failed', and it is Running"),
        ({}, "Failed", "the record of a-1 says that it ended as '', and it is Failed"),
        (
            {**ENDED, "stoppedBy": 1.0},
            "Succeeded",
            "the record of a-1 says that it ended as 'Failed', and it is Succeeded",
        ),
    ],
)
def test_a_record_says_what_is_so(
    tmp_path: Path, recorded: dict[str, Any], phase: str, said: str
) -> None:
    assert seen(disk(tmp_path, **recorded), phase) == [said]


def test_the_last_good_content_of_a_manifest_goes_with_it_and_is_its_own(tmp_path: Path) -> None:
    root = disk(tmp_path)
    keep(root, a="[]", b="{}")
    assert seen(root) == [
        "the last good content of a.json is another one than it has",
        "the last good content of b.json is left",
    ]
