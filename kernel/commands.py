"""Runs a command for its output: with a deadline, in memory alone, and with one sentence for each failure."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import IO, Final

from messages.units import Seconds

_LARGEST: Final = 1 << 20
"""Bytes of the output: a token and a certificate are some 10 kB."""
_CHECK_EVERY: Final = 0.1
"""Seconds. The size of the output is checked this often: a command that prints without end fills the
memory."""
_TOO_MUCH: Final = "printed more than 1 MiB"


class CommandError(Exception):
    """The command gave no output. The text never contains what the command wrote."""


class CommandFailedError(CommandError):
    """The command ended by itself, and not well. Its own words may say why; nobody kept them."""


def output_of(
    command: Sequence[str],
    *,
    deadline: Seconds,
    environment: Mapping[str, str] | None = None,
    told: bytes = b"",
) -> bytes:
    """Run ``command`` and return what it prints. ``told`` is its standard input. Blocks up to ``deadline``.

    Raises ``CommandError``.
    """
    # Input and output are in memory and not in pipes: a grandchild that keeps a pipe open would make us wait
    # even after the deadline. The command gets its own process group, so that the deadline ends such
    # grandchildren too.
    with _in_memory() as heard, _in_memory() as written:
        heard.write(told)
        heard.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  # what the caller says is to be run
                command,
                env=environment,
                stdin=heard,
                stdout=written,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", "") or "it is no command").lower()
            raise CommandError(f"cannot be run: {why}") from None
        _wait(process, written, deadline)
        return _head(written)


def _in_memory() -> IO[bytes]:
    return open(os.memfd_create("command"), "w+b")  # noqa: PTH123  # has no path


def _wait(process: subprocess.Popen[bytes], written: IO[bytes], deadline: Seconds) -> None:
    ends_at = time.monotonic() + deadline
    try:
        while (code := _code(process)) is None:
            if os.fstat(written.fileno()).st_size > _LARGEST:
                raise CommandError(_TOO_MUCH)
            if time.monotonic() >= ends_at:
                raise CommandError(f"gave no answer within {deadline:g} s")
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code != 0:
        how = f"exited with {code}" if code > 0 else f"was ended by signal {-code}"
        raise CommandFailedError(how)


def _code(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code of ``process``, or None after a moment."""
    try:
        return process.wait(_CHECK_EVERY)
    except subprocess.TimeoutExpired:
        return None


def _head(written: IO[bytes]) -> bytes:
    written.seek(0)
    output = written.read(_LARGEST + 1)
    if len(output) > _LARGEST:
        raise CommandError(_TOO_MUCH)
    return output
