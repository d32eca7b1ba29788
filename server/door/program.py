"""The door's process: one thread, which accepts, encrypts and copies. It opens no path once it runs.

It begins with the descriptors of its pair and of the sockets that listen, and ends with its last stream when
the agent has ended: streams outlive the agent, plain connections do not.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import select
import socket
import sys
import time
from collections import Counter
from typing import Any, Final

from server.door import messages
from server.door.connections import DoorConnection, Tls, reason_of
from server.door.ways import CHUNK, TlsEnd

MOST_HANDSHAKES: Final = 50
"""Connections at a time whose handshakes have not ended: of more the oldest is cut."""
MOST: Final = 200
"""Connections at a time whose handshakes have ended."""
SHARE: Final = 0.75
"""Of either that one user may have, so that one who leaks connections leaves room for others."""
TICK: Final = 1.0
"""Seconds between two looks at what is late, and two messages about what has moved."""
ACCEPTED_AT_ONCE: Final = 16
NOBODY: Final = 65534
_NO_NEW_PRIVILEGES: Final = 38
"""``PR_SET_NO_NEW_PRIVS``."""
_SHORTAGES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Door:
    """The connections of the door, and whoever has ended or is to be told of."""

    def __init__(self, pair: socket.socket, listeners: list[socket.socket]) -> None:
        self._pair: socket.socket | None = pair
        self._listeners = listeners
        self._tls: Tls | None = None
        self._connections: dict[int, DoorConnection] = {}
        self._by_descriptor: dict[int, DoorConnection] = {}
        self._interests: dict[int, int] = {}
        self._again: set[DoorConnection] = set()
        """Those that have more to move at once."""
        self._refused: Counter[str] = Counter()
        self._told: dict[int, tuple[int, int]] = {}
        self._untold: list[tuple[str, dict[str, Any], int | None]] = []
        """Messages that the pair had no room for. A descriptor is closed once it was sent."""
        self._count = 0
        self._ticked_at = 0.0
        self._scratch = bytearray(CHUNK)
        self._epoll = select.epoll()
        pair.settimeout(0)
        self._register(pair.fileno(), select.EPOLLIN)
        for each in listeners:
            each.settimeout(0)

    def run(self) -> None:
        """Go on until the agent has ended, and the last stream."""
        while self._pair is not None or self._connections:
            wait = 0.0 if self._again else TICK if self._is_busy() else None
            events = dict(self._epoll.poll(wait))
            if self._pair is not None and events.pop(self._pair.fileno(), 0):
                self._hear()
            now = time.monotonic()
            for listener in self._listeners:
                if events.pop(listener.fileno(), 0):
                    self._accept(listener, now)
            again, self._again = self._again, set()
            moving = [self._by_descriptor[each] for each in events if each in self._by_descriptor]
            for connection in dict.fromkeys((*moving, *again)):
                self._go_on(connection, now)
            if now - self._ticked_at >= TICK:
                self._ticked_at = now
                self._tick(now)

    def _is_busy(self) -> bool:
        return bool(self._connections or self._refused or self._untold)

    # --- the agent -------------------------------------------------------------------------------------

    def _hear(self) -> None:
        """Take all messages of the agent."""
        while self._pair is not None:
            try:
                message = messages.receive(self._pair)
            except BlockingIOError:
                return
            except OSError:
                message = None
            if message is None:
                self._go_on_alone()
            else:
                self._obey(message)

    def _obey(self, message: messages.Message) -> None:
        if message.kind == messages.CONTEXT:
            self._take_context(message)
            return
        connection = self._connections.get(message.fields["number"])
        if connection is None or connection.inner is None:
            for each in message.descriptors:
                os.close(each)
        elif message.kind == messages.SWITCH:
            self._switch(connection, message)
        else:
            self._end(connection)

    def _take_context(self, message: messages.Message) -> None:
        """Speak TLS as the agent says from the next connection on. What cannot be used changes nothing."""
        try:
            self._tls = Tls(message.fields, message.descriptors)
        except (OSError, ValueError):
            self._refused["certificate cannot be used"] += 1
            return
        for listener in self._listeners:
            self._register(listener.fileno(), select.EPOLLIN)

    def _switch(self, connection: DoorConnection, message: messages.Message) -> None:
        (descriptor,) = message.descriptors
        if why := self._no_room(connection.user, self._streams(), messages.MOST_STREAMS, "streams"):
            os.close(descriptor)
            self._refuse(connection, why)
            return
        assert connection.inner is not None  # noqa: S101  # was looked at
        self._forget(connection.inner.number)
        del self._by_descriptor[connection.inner.number]
        connection.switch(descriptor, message.data)
        assert connection.inner is not None  # noqa: S101  # it is another one
        self._by_descriptor[connection.inner.number] = connection
        self._again.add(connection)

    def _go_on_alone(self) -> None:
        """Keep the streams, and nothing else: the agent has ended."""
        assert self._pair is not None  # noqa: S101  # it ends once
        self._forget(self._pair.fileno())
        self._pair.close()
        self._pair = None
        for listener in self._listeners:
            self._forget(listener.fileno())
            listener.close()
        self._listeners = []
        for connection in [each for each in self._connections.values() if not each.is_stream]:
            self._end(connection)

    def _tell(self, kind: str, fields: dict[str, Any], descriptor: int | None = None) -> None:
        self._untold.append((kind, fields, descriptor))
        self._tell_all()

    def _tell_all(self) -> None:
        while self._untold:
            kind, fields, descriptor = self._untold[0]
            descriptors = () if descriptor is None else (descriptor,)
            try:
                if self._pair is not None:
                    messages.send(self._pair, kind, fields, descriptors=descriptors)
            except BlockingIOError:
                return
            except OSError:
                pass  # it has ended, which is heard of
            self._untold.pop(0)
            for each in descriptors:
                os.close(each)

    # --- clients ---------------------------------------------------------------------------------------

    def _accept(self, listener: socket.socket, now: float) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, peer = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _SHORTAGES:
                    self._forget(listener.fileno())  # until the next look
                    self._refused["too few descriptors"] += 1
                return
            assert self._tls is not None  # noqa: S101  # nothing is accepted before
            try:
                client = self._tls.accepted(accepted)
            except OSError:
                accepted.close()  # it has gone meanwhile
            else:
                self._begin(client, str(peer[0]), now)

    def _begin(self, client: TlsEnd, peer: str, now: float) -> None:
        unfinished = [each for each in self._connections.values() if each.inner is None]
        if len(unfinished) >= MOST_HANDSHAKES:
            self._refuse(unfinished[0], "too many handshakes")
        self._count += 1
        connection = DoorConnection(self._count, client, peer, now)
        self._connections[self._count] = self._by_descriptor[client.number] = connection
        self._go_on(connection, now)

    def _go_on(self, connection: DoorConnection, now: float) -> None:
        """Do for a connection what can be done now."""
        if connection.number not in self._connections:
            return  # it has ended in this turn
        try:
            if connection.inner is None:
                self._shake_hands(connection, now)
            elif connection.move(self._scratch, now):
                self._again.add(connection)
        except OSError as error:
            if connection.inner is None:
                self._refused[reason_of(error)] += 1
            self._end(connection)
        except EOFError:
            self._end_unless_switched(connection)
        else:
            self._wait_for(connection)

    def _shake_hands(self, connection: DoorConnection, now: float) -> None:
        if not connection.client.shakes_hands():
            return
        identity = connection.identity()
        # All without a certificate count as one: addresses are cheap, and the API server has one.
        connection.user = json.dumps(identity.get("subject", ""))
        joined = [each for each in self._connections.values() if each.inner is not None]
        if why := self._no_room(connection.user, joined, MOST, "connections"):
            self._refused[why] += 1
            raise EOFError
        theirs = connection.open(now)
        assert connection.inner is not None  # noqa: S101  # it is open
        self._by_descriptor[connection.inner.number] = connection
        told = {"number": connection.number, "peer": connection.peer, **identity}
        self._tell(messages.OPENED, told, theirs.detach())
        self._again.add(connection)

    def _streams(self) -> list[DoorConnection]:
        return [each for each in self._connections.values() if each.is_stream]

    def _no_room(self, user: str, others: list[DoorConnection], most: int, what: str) -> str:
        """Return why there is no room for one more of a user; empty if there is."""
        if len(others) >= most:
            return f"too many {what}"
        if sum(each.user == user for each in others) >= most * SHARE:
            return f"too many {what} of a user"
        return ""

    def _refuse(self, connection: DoorConnection, why: str) -> None:
        self._refused[why] += 1
        self._end(connection)

    def _end_unless_switched(self, connection: DoorConnection) -> None:
        """End a connection of which one side has ended, but not if that is since it is a stream now.

        The agent closes its side right after it has said so. Here the end may be seen first.
        """
        was_stream = connection.is_stream
        if not was_stream:
            self._hear()
        is_switched = connection.is_stream and not was_stream
        if connection.number in self._connections and not is_switched:
            self._end(connection)

    def _end(self, connection: DoorConnection) -> None:
        del self._connections[connection.number]
        for end in connection.ends():
            del self._by_descriptor[end.number]
            self._forget(end.number)
        if connection.is_stream:
            up, down = connection.carried()
            self._told.pop(connection.number, None)
            self._tell(messages.ENDED, {"number": connection.number, "up": up, "down": down})
        connection.close()

    # --- what is waited for ----------------------------------------------------------------------------

    def _wait_for(self, connection: DoorConnection) -> None:
        for end in connection.ends():
            self._register(end.number, connection.interest(end))

    def _register(self, descriptor: int, interest: int) -> None:
        """Wait for these events. A descriptor without any is left out, lest it tells its end all the time."""
        before = self._interests.get(descriptor, 0)
        if interest == before:
            return
        if not interest:
            self._forget(descriptor)
            return
        change = self._epoll.modify if before else self._epoll.register
        change(descriptor, interest)
        self._interests[descriptor] = interest

    def _forget(self, descriptor: int) -> None:
        if self._interests.pop(descriptor, 0):
            self._epoll.unregister(descriptor)

    def _tick(self, now: float) -> None:
        """Look at what is late, and tell what has happened since the last time."""
        for connection in list(self._connections.values()):
            if why := connection.is_late(now):
                self._refuse(connection, why)
        if self._tls is not None:
            for listener in self._listeners:
                self._register(listener.fileno(), select.EPOLLIN)
        carried = {each.number: each.carried() for each in self._streams()}
        moved = {number: told for number, told in carried.items() if self._told.get(number) != told}
        self._told = carried
        if moved:
            self._tell(messages.MOVED, {"streams": moved})
        if self._refused:
            self._tell(messages.REFUSED, {"reasons": dict(self._refused)})
            self._refused.clear()
        self._tell_all()


def give_up_rights() -> None:
    """Keep nothing of what root may do, for good, and write no file."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def main(pair: int, listeners: list[int]) -> None:
    """Be the door: ``pair`` and ``listeners`` are descriptors."""
    give_up_rights()
    Door(socket.socket(fileno=pair), [socket.socket(fileno=each) for each in listeners]).run()


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
