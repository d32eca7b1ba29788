"""Carries out the steps of a rotation. Blocks, for as long as it takes to compress a file."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, assert_never

from actors.logs.directories import LogDirectory, status_of
from actors.logs.layout import GZIP, TEMPORARY, LogFileStatus
from actors.logs.rotation import (
    CompressLogFile,
    MoveLog,
    RemoveLogFile,
    RotationStep,
)

_CHUNK: Final = 256 * 1024
_LEVEL: Final = 6


def log_files(directory: LogDirectory) -> Mapping[str, LogFileStatus]:
    """Return all plain files of a container's directory. Raises OSError."""
    found = ((name, directory.file(name)) for name in directory.names())
    return {name: status for name, status in found if status is not None}


def carry_out(directory: LogDirectory, step: RotationStep) -> None:
    """Carry out one step. Raises OSError: then everything is as before."""
    match step:
        case RemoveLogFile(name=name):
            directory.remove_file(name)
        case CompressLogFile(name=name):
            _compress(directory, name)
        case MoveLog(name=name, new=new):
            directory.rename(name, new)
        case _:
            assert_never(step)


def _compress(directory: LogDirectory, name: str) -> None:
    temporary, packed = f"{name}{TEMPORARY}", f"{name}{GZIP}"
    source = directory.open_file(name)
    try:
        directory.remove_file(temporary)
        status = status_of(source)
        target = directory.create_file(temporary, status.mode)
        try:
            with open(target, "wb") as file:  # noqa: PTH123 - it is no path
                length = _pack(source, file.fileno())
                os.fsync(file.fileno())
            os.utime(temporary, (status.modified, status.modified), dir_fd=directory.descriptor)
            _check_length(source, length)
            directory.rename(temporary, packed)
        except OSError:
            with suppress(OSError):
                directory.remove_file(temporary)
            raise
        directory.remove_file(name)
    finally:
        os.close(source)


def _check_length(source: int, length: int) -> None:
    if status_of(source).size != length:
        raise OSError("it grew while it was compressed")


def _pack(source: int, target: int) -> int:
    """Write a compressed copy, and return how long the original was."""
    length = 0
    with (
        open(target, "wb", closefd=False) as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=_LEVEL) as packed,
    ):
        while data := os.pread(source, _CHUNK, length):
            packed.write(data)
            length += len(data)
    return length
