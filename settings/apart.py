"""Makes a value in a process that ends, so that what it takes to make it does not stay in memory.

For the settings these are the libraries that read flags and configuration files: 11 MB, for some hundred
bytes (measured). The other process is a fork of this one. It is made while there is one thread and hardly
anything is imported, so it takes 3 ms.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

from settings.errors import StartError

T = TypeVar("T")


def made_apart(make: Callable[[], T], meanwhile: Callable[[], object] = lambda: None) -> T:
    """Return what ``make`` returns in another process. Call it while there is one thread.

    What ``make`` raises, the caller gets in the other process, and has to end that with it. This process
    ends with the same exit code then. Raises ``StartError`` if a signal ended the other process.
    ``meanwhile`` is called in this process once the other one runs. It must not block.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            pid = os.fork()
        except OSError:  # there are too many processes
            return make()
        if pid == 0:
            ours.close()
            _hand_over(make, theirs)
        theirs.close()
        meanwhile()
        with ours.makefile("rb") as stream:
            data = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        raise StartError(f"the process that reads the settings was ended by signal {-code}")
    if code > 0 or not data:
        # The other process has said everything. At once, since threads may be at work in this one.
        os._exit(code)
    made: T = pickle.loads(data)  # noqa: S301  # written by our own code
    return made


def _hand_over(make: Callable[[], object], connection: socket.socket) -> NoReturn:
    # Reading a file may take for ever, and whoever waits for it may be ended meanwhile.
    threading.Thread(target=_end_with_other, args=(connection,), daemon=True).start()
    data = pickle.dumps(make())
    with suppress(ConnectionError):
        connection.sendall(data)
    os._exit(0)


def _end_with_other(connection: socket.socket) -> None:
    try:
        connection.recv(1)
    except ConnectionError:
        pass
    except OSError:  # closed by this process, which ends because of a bug, and is about to say so
        return
    os._exit(1)
