"""The files of a volume as values."""

from __future__ import annotations

from actors.volumes.content.files import Payload, VolumeFile

SECRET = VolumeFile(b"hunter2", 0o600, 1000)


def test_no_content_is_in_a_repr() -> None:
    for shown in (repr(SECRET), repr(Payload(files={"a/password": SECRET}, group=7))):
        assert "hunter2" not in shown
    assert (
        repr(Payload(files={"b": SECRET, "a": SECRET})) == "Payload(paths=['a', 'b'], group=None)"
    )


def test_payloads_are_equal_if_files_and_group_are() -> None:
    assert Payload(files={"a": SECRET}) == Payload(files={"a": VolumeFile(b"hunter2", 0o600, 1000)})
    assert Payload(files={"a": SECRET}) != Payload(files={"a": SECRET}, group=7)
    assert Payload(files={"a": SECRET}) != Payload(files={"a": VolumeFile(b"hunter2", 0o640, 1000)})
