"""The files of the node's own certificate, whenever the agent ends or the power goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from actors.certificates.key_program import KeyProgram, UnusableError
from actors.certificates.own import LARGEST, OwnFiles, OwnPair, checked_own
from actors.certificates.pairs import Pair, WantedNames
from tests.support.certificates.fake_keys import FakeKeys
from tests.support.files.power import Power
from tests.support.kernel.clock import EPOCH

WANTED: Final = WantedNames.of("n1", ["192.0.2.7"])
STEPS: Final = 6
"""Of writing a pair: each file is written, synced and renamed."""


class EndError(BaseException):
    """The agent was killed: nothing of it does anything any more."""


class KilledAt:
    """Ends the agent before its n-th step on the disk. What would clean up does nothing then."""

    def __init__(self, patched: pytest.MonkeyPatch, at: int) -> None:
        self.left = at
        self._patched = patched
        for owner, name in ((os, "fsync"), (Path, "replace"), (os, "fchmod"), (Path, "unlink")):
            self._watch(owner, name)

    def _watch(self, owner: object, name: str) -> None:
        real = getattr(owner, name)

        def step(*given: object, **named: object) -> object:
            if self.left <= 0:
                raise EndError
            self.left -= 1
            return real(*given, **named)

        self._patched.setattr(owner, name, step)


def checked(folder: Path, program: KeyProgram, before: OwnPair | None = None) -> Pair:
    """Return what a process has in use after its first check."""
    own = checked_own(before or OwnPair(), OwnFiles(folder), program, WANTED, EPOCH)
    assert own.pair is not None
    assert own.is_kept
    return own.pair


@pytest.mark.parametrize("has_one", [False, True])
def test_wherever_the_agent_is_killed_the_next_has_a_pair_that_fits_and_keeps_it(
    tmp_path: Path, *, has_one: bool
) -> None:
    program, ends = KeyProgram(FakeKeys()), 0
    for at in range(20):
        folder = tmp_path / str(at)
        if has_one:
            OwnFiles(folder).write(program.make(WantedNames.of("n1", ()), EPOCH))
        with pytest.MonkeyPatch.context() as patched:
            killed = KilledAt(patched, at)
            try:
                checked(folder, program)
            except EndError:
                ends += 1
            assert killed.left >= 0
        pair = checked(folder, program)
        assert OwnFiles(folder).read() == (pair.certificate, pair.key)
        assert checked(folder, program) == pair
        assert {file.name for file in folder.iterdir()} == {"kubelet.crt", "kubelet.key"}
    assert STEPS <= ends < 20


@pytest.mark.parametrize("has_one", [False, True])
def test_a_pair_that_is_kept_survives_a_loss_of_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_one: bool
) -> None:
    power, program = Power(monkeypatch), KeyProgram(FakeKeys())
    folder = tmp_path / "pki"
    if has_one:
        OwnFiles(folder).write(program.make(WantedNames.of("n1", ()), EPOCH))
    pair = checked(folder, program)
    power.goes(folder)
    assert OwnFiles(folder).read() == (pair.certificate, pair.key)


def test_the_key_is_never_readable_for_others_not_even_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: set[int] = set()
    real = os.fsync

    def noted(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_file():
            status, content = os.fstat(descriptor), Path(f"/proc/self/fd/{descriptor}").read_bytes()
            if b"PRIVATE" in content:
                modes.add(status.st_mode & 0o777)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    before = os.umask(0)
    try:
        checked(tmp_path, KeyProgram(FakeKeys()))
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert (tmp_path / "kubelet.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("size", "is_read"), [(LARGEST, True), (LARGEST + 1, False)])
def test_a_file_that_is_too_large_is_not_used(tmp_path: Path, size: int, *, is_read: bool) -> None:
    files = OwnFiles(tmp_path)
    files.certificate.write_bytes(b"x" * size)
    files.key.write_bytes(b"")
    if is_read:
        assert len(files.read()[0]) == size
    else:
        with pytest.raises(UnusableError, match=r"^its files are too large$"):
            files.read()
