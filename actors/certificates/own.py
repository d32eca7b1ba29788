"""The node's own certificate: the files in the certificate directory, read, or made anew. It may block."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from actors.certificates.key_program import KeyProgram, KeysUnaskedError, UnusableError
from actors.certificates.pairs import Pair, WantedNames, why_anew
from files.records import make_directory, read_file, replaced, sync_directory
from messages.units import Timestamp

CERTIFICATE: Final = "kubelet.crt"
KEY: Final = "kubelet.key"
"""The names that a kubelet gives them, so that either finds those of the other."""
DIRECTORY_MODE: Final = 0o755
CERTIFICATE_MODE: Final = 0o644
LARGEST: Final = 256 * 1024
"""Bytes of a file. A chain of certificates takes some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPair:
    """The node's own certificate as it is in use, and what is wrong with it."""

    pair: Pair | None = None
    """None while there could be none."""
    is_kept: bool = False
    """It is in the certificate directory, where the next process finds it."""
    made_because: str = ""
    """Why this process has made it; empty if it was found."""
    trouble: str = ""
    is_answered: bool = True
    """Whether the program gave an answer when it was asked last."""


class OwnFiles:
    """The certificate directory."""

    def __init__(self, directory: Path) -> None:
        self.certificate = directory / CERTIFICATE
        self.key = directory / KEY
        self._directory = directory

    def read(self) -> tuple[bytes, bytes]:
        """Return certificate and key. Raises ``UnusableError``."""
        try:
            read = read_file(self.certificate, LARGEST), read_file(self.key, LARGEST)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise UnusableError(f"its files cannot be read: {reason}") from None
        if max(map(len, read)) > LARGEST:
            raise UnusableError("its files are too large")
        return read

    def write(self, pair: Pair) -> None:
        """Keep ``pair`` there. Raises OSError.

        A process that ends in between leaves two files that do not fit, and the next one makes new ones.
        """
        make_directory(self._directory, DIRECTORY_MODE)
        with replaced(self.key) as opened:
            opened.write(pair.key)
        with replaced(self.certificate) as opened:
            os.fchmod(opened.fileno(), CERTIFICATE_MODE)
            opened.write(pair.certificate)
        sync_directory(self._directory)


def checked_own(
    before: OwnPair, files: OwnFiles, program: KeyProgram, wanted: WantedNames, now: Timestamp
) -> OwnPair:
    """Return the node's own certificate: the present one, that of the files, or a new one.

    The present one stays in use if no better one can be had. Raises nothing.
    """
    pair = before.pair
    if pair is not None and not why_anew(pair, wanted, now):
        return before if before.is_kept else _kept(before, files)
    try:
        try:
            found = program.read(*files.read())
            because = why_anew(found, wanted, now)
        except UnusableError as error:
            because = str(error)
        else:
            if not because:
                return OwnPair(pair=found, is_kept=True)
        made = program.make(wanted, now)
    except KeysUnaskedError as error:
        trouble = f"no certificate can be made: {error}"
        return replace(before, trouble=trouble, is_answered=False)
    return _kept(OwnPair(pair=made, made_because=because), files)


def _kept(own: OwnPair, files: OwnFiles) -> OwnPair:
    if own.pair is None:
        return own
    try:
        files.write(own.pair)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        trouble = f"{files.certificate} cannot be kept for a restart: {reason}"
        return replace(own, trouble=trouble)
    return replace(own, is_kept=True, trouble="")
