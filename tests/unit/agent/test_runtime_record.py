"""The pods of a root directory keep their kind of runtime, unless somebody insists on another one."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from actors.pods.records import KeptPod, encoded_pod
from agent.runtime_record import (
    POD_RECORDS_DIRECTORY,
    RECORD,
    RecordedRuntime,
    keep_record,
    places_of,
    record_of,
    take_directory,
)
from files.records import make_directory, write_file
from messages.pods import PodUid
from messages.units import Timestamp
from runtimes.cri.runtime_socket import PLACES
from settings.errors import StartError
from settings.situation import RuntimeKind
from tests.support.files.power import Power

CRI, HOLLOW, CLASS = RuntimeKind.CRI, RuntimeKind.HOLLOW, RuntimeKind.PROVIDER


def takes(root: Path, kind: RuntimeKind, *, may_change: bool = False) -> None:
    """Take it as an agent whose container runtime was found, if it has one."""
    take_directory(root, kind, may_change=may_change)
    if record_of(root) is None:
        keep_record(root, RecordedRuntime(runtime=kind))


def records(root: Path) -> str:
    """Return what the records of pods say; empty if there are none."""
    file = root / POD_RECORDS_DIRECTORY / "page"
    return file.read_text() if file.exists() else ""


def write(root: Path, text: str) -> None:
    (root / POD_RECORDS_DIRECTORY).mkdir(exist_ok=True)
    (root / POD_RECORDS_DIRECTORY / "page").write_text(text)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (HOLLOW, CRI, "are hollow (--runtime hollow), and this agent's run in containers"),
        (CRI, HOLLOW, "run in containers (--runtime cri), and this agent's are hollow"),
        (CLASS, CRI, "are run by a class (--runtime MODULE:CLASS), and this agent's run in"),
    ],
)
def test_a_directory_of_another_kind_is_refused_with_one_sentence_and_left_as_it_is(
    tmp_path: Path, first: RuntimeKind, second: RuntimeKind, said: str
) -> None:
    takes(tmp_path, first)
    write(tmp_path, "old")
    with pytest.raises(StartError) as caught:
        takes(tmp_path, second)
    sentence = str(caught.value)
    assert sentence.startswith(f"the pods of --root-dir {tmp_path} {said}")
    assert sentence.endswith(": choose another directory, or insist with --change-runtime")
    assert caught.value.exit_code == 1
    takes(tmp_path, first)
    assert records(tmp_path) == "old"


@pytest.mark.parametrize("kind", RuntimeKind)
def test_a_directory_whose_records_show_nothing_is_anybody_s(
    tmp_path: Path, kind: RuntimeKind
) -> None:
    """Earlier versions wrote none, and may have been hollow and real by turns."""
    write(tmp_path, "old")
    (tmp_path / "hollow").mkdir()
    (tmp_path / "image-pulls.json").touch()
    takes(tmp_path, kind)
    assert records(tmp_path) == "old"
    assert record_of(tmp_path) == RecordedRuntime(runtime=kind)


def of_an_earlier_version(pod: KeptPod) -> bytes:
    """Return a record of a pod as it was before there was one of the runtime."""
    document = json.loads(encoded_pod(pod).partition(b"\n")[2])
    later = {"conditions", "ips", "digests"}
    body = json.dumps({key: each for key, each in document.items() if key not in later}).encode()
    return b"actorlet-pod 1 %s\n%s" % (sha256(body).hexdigest().encode(), body)


WEB = KeptPod(uid=PodUid("web"), start_time=Timestamp(5.0))
WAITS = replace(WEB, conditions={"Ready": ("False", Timestamp(5.0))})


@pytest.mark.parametrize(
    "page", [of_an_earlier_version(WEB), encoded_pod(replace(WAITS, ips=("10.0.0.7",)))]
)
def test_a_directory_whose_records_show_containers_is_refused_to_a_hollow_agent(
    tmp_path: Path, page: bytes
) -> None:
    write(tmp_path, page.decode())
    with pytest.raises(
        StartError, match=r"run in containers \(--runtime cri\), and this agent's are"
    ):
        takes(tmp_path, HOLLOW)
    assert (record_of(tmp_path), records(tmp_path)) == (None, page.decode())
    takes(tmp_path, HOLLOW, may_change=True)
    assert (record_of(tmp_path), records(tmp_path)) == (RecordedRuntime(runtime=HOLLOW), "")


def test_a_directory_of_hollow_containers_with_records_is_not_refused_to_them(
    tmp_path: Path,
) -> None:
    write(tmp_path, of_an_earlier_version(WEB).decode())
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow/containers.json").touch()
    takes(tmp_path, HOLLOW)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"runtime": "magic", "socket": ""}', b"{}"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / RECORD).write_bytes(damage)
    takes(tmp_path, HOLLOW)
    assert record_of(tmp_path) == RecordedRuntime(runtime=HOLLOW)


def test_a_directory_is_anybody_s_while_a_container_runtime_is_waited_for_that_was_never_there(
    tmp_path: Path,
) -> None:
    """Who was hollow by default in an earlier version, and now says so, has no pods in containers."""
    take_directory(tmp_path, CRI, may_change=False)
    assert record_of(tmp_path) is None
    page = encoded_pod(WAITS).decode()
    write(tmp_path, page)
    takes(tmp_path, HOLLOW)
    assert (record_of(tmp_path), records(tmp_path)) == (RecordedRuntime(runtime=HOLLOW), page)


def test_a_full_disk_keeps_a_change_from_being_half_done(tmp_path: Path) -> None:
    takes(tmp_path, CRI)
    write(tmp_path, "real")
    (tmp_path / "runtime.new").mkdir()
    with pytest.raises(StartError, match="cannot be changed: "):
        takes(tmp_path, HOLLOW, may_change=True)
    takes(tmp_path, CRI)
    assert records(tmp_path) == "real"


def test_who_insists_begins_without_the_records_of_the_other_kind_which_come_back_with_it(
    tmp_path: Path,
) -> None:
    takes(tmp_path, CRI)
    write(tmp_path, "real")
    takes(tmp_path, HOLLOW, may_change=True)
    assert records(tmp_path) == ""
    write(tmp_path, "hollow")
    takes(tmp_path, CRI, may_change=True)
    assert records(tmp_path) == "real"
    takes(tmp_path, HOLLOW, may_change=True)
    assert records(tmp_path) == "hollow"


def test_to_insist_changes_nothing_where_the_kind_is_the_same(tmp_path: Path) -> None:
    takes(tmp_path, CRI)
    write(tmp_path, "real")
    keep_record(tmp_path, RecordedRuntime(runtime=CRI, socket="/run/crio/crio.sock"))
    takes(tmp_path, CRI, may_change=True)
    assert records(tmp_path) == "real"
    assert places_of(tmp_path) == (Path("/run/crio/crio.sock"),)


def test_a_change_that_was_broken_off_is_finished_or_taken_back(tmp_path: Path) -> None:
    takes(tmp_path, CRI)
    write(tmp_path, "real")
    (tmp_path / POD_RECORDS_DIRECTORY).rename(
        tmp_path / f"{POD_RECORDS_DIRECTORY}-cri"
    )  # and then the power went
    takes(tmp_path, CRI)
    assert records(tmp_path) == "real"


def test_the_kind_survives_when_the_power_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power = Power(monkeypatch)
    for kind in (HOLLOW, CLASS, HOLLOW):
        takes(tmp_path, kind, may_change=True)
        power.goes(tmp_path)
        assert record_of(tmp_path) == RecordedRuntime(runtime=kind)


def test_records_that_are_taken_up_again_survive_when_the_power_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    power = Power(monkeypatch)
    takes(tmp_path, HOLLOW)
    directory = tmp_path / f"{POD_RECORDS_DIRECTORY}-hollow"
    make_directory(directory)
    write_file(directory / "page", b"hollow")
    takes(tmp_path, HOLLOW)
    power.goes(tmp_path)
    assert records(tmp_path) == "hollow"


def test_a_runtime_is_looked_for_where_one_was_found_before(tmp_path: Path) -> None:
    """Of two that start together the other one may be there first."""
    assert places_of(tmp_path) == PLACES
    takes(tmp_path, CRI)
    assert places_of(tmp_path) == PLACES
    keep_record(tmp_path, RecordedRuntime(runtime=CRI, socket="/run/crio/crio.sock"))
    assert places_of(tmp_path) == (Path("/run/crio/crio.sock"),)


def test_a_full_disk_is_no_reason_not_to_start(tmp_path: Path) -> None:
    (tmp_path / "runtime.new").mkdir()
    keep_record(tmp_path, RecordedRuntime(runtime=CRI))
    assert record_of(tmp_path) is None
