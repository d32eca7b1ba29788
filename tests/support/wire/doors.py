"""A door that runs, its agent's side, and clients that come to it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, NamedTuple

import trustme
from typing_extensions import override

from server.door.process import DoorListener, DoorProcess, TlsContext
from tests.support.patience import PATIENCE


class Opened(NamedTuple):
    """A connection as the agent gets it."""

    number: int
    connection: socket.socket
    told: dict[str, Any]


class Client(NamedTuple):
    """A client that has shaken hands."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def gets(self, count: int) -> bytes:
        """Return so many bytes."""
        return await asyncio.wait_for(self.reader.readexactly(count), PATIENCE)

    async def gets_all(self) -> bytes:
        """Return all bytes until the end."""
        return await asyncio.wait_for(self.reader.read(), PATIENCE)

    async def says(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)


class Agent(DoorListener):
    """The agent's side: it notes what it is told."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[Opened] = asyncio.Queue()
        self.ends: asyncio.Queue[tuple[int, int, int]] = asyncio.Queue()
        self.refusals: Counter[str] = Counter()
        self.held = ExitStack()
        """Closes what it was handed."""
        self.changed = asyncio.Event()

    @override
    def opened(self, number: int, connection: socket.socket, told: dict[str, Any]) -> None:
        connection.settimeout(0)
        self.held.callback(connection.close)
        self.connections.put_nowait(Opened(number, connection, told))

    @override
    def moved(self, streams: dict[int, tuple[int, int]]) -> None:
        self.changed.set()

    @override
    def ended(self, number: int, up: int, down: int) -> None:
        self.ends.put_nowait((number, up, down))

    @override
    def refused(self, reasons: dict[str, int]) -> None:
        self.refusals.update(reasons)
        self.changed.set()

    @override
    def gone(self) -> None:
        self.changed.set()

    async def next(self) -> Opened:
        """Return the next connection."""
        return await asyncio.wait_for(self.connections.get(), PATIENCE)

    async def has_refused(self, reason: str) -> None:
        """Return once somebody was refused for this."""
        while not self.refusals[reason]:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), PATIENCE)


class Keys:
    """An authority, and what it has issued."""

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self._serving = self.authority.issue_cert("localhost", "127.0.0.1")

    def context(self, *clients: trustme.CA) -> TlsContext:
        """Return how the door speaks TLS, with the authorities of these clients."""
        return TlsContext(
            certificate=b"".join(each.bytes() for each in self._serving.cert_chain_pems),
            key=self._serving.private_key_pem.bytes(),
            authorities=b"".join(each.cert_pem.bytes() for each in clients),
        )

    def client(
        self, issuer: trustme.CA | None = None, user: str = "", group: str = "people"
    ) -> ssl.SSLContext:
        """Return how a client speaks TLS that trusts this authority; as ``user``, if one is given."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.authority.configure_trust(context)
        if issuer is not None:
            issuer.issue_cert("client", common_name=user, organization_name=group).configure_cert(
                context
            )
        return context


class DoorStage:
    """A door at a port of its own."""

    def __init__(self, door: DoorProcess, agent: Agent, port: int) -> None:
        self.door = door
        self.agent = agent
        self.port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def close(self) -> None:
        """Have clients and agent end, and return when the door has ended."""
        self.agent.held.close()
        self.door.close()
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await asyncio.wait_for(writer.wait_closed(), PATIENCE)
        await asyncio.to_thread(self.door.wait)

    async def comes(self, context: ssl.SSLContext, address: str = "127.0.0.1") -> Client:
        """Return a client at an address of its own whose handshake has ended."""
        opened = asyncio.open_connection(
            "127.0.0.1",
            self.port,
            ssl=context,
            server_hostname="localhost",
            local_addr=(address, 0),
        )
        client = Client(*await asyncio.wait_for(opened, PATIENCE))
        self._writers.append(client.writer)
        return client

    async def is_refused(self, context: ssl.SSLContext) -> None:
        """Return once a client was not let in: TLS 1.3 tells it so after its own end of the handshake."""
        try:
            client = await self.comes(context)
            await client.gets(1)
        except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
            return
        raise AssertionError("it was let in")

    async def stream(
        self, context: ssl.SSLContext, first: bytes = b""
    ) -> tuple[Client, socket.socket]:
        """Return a client whose connection was made a stream, and the other side of that."""
        client, opened = await self.comes(context), await self.agent.next()
        ours, theirs = socket.socketpair()
        ours.settimeout(0)
        self.agent.held.callback(ours.close)
        self.door.switch(opened.number, theirs.detach(), first)
        opened.connection.close()
        return client, ours


@asynccontextmanager
async def door_stage(context: TlsContext) -> AsyncIterator[DoorStage]:
    """Yield a door that speaks TLS so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent = Agent()
        door = DoorProcess([listener], agent)
        stage = DoorStage(door, agent, listener.getsockname()[1])
        try:
            door.use(context)
            yield stage
        finally:
            await stage.close()
