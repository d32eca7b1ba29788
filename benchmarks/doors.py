"""What the door of the TLS port costs: bytes of streams, the time that it adds to each, and its memory.

Beside it stands ``openssl s_server``, which sends a file by the same TLS and does nothing else.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final, NamedTuple

import trustme

from benchmarks import processes
from benchmarks.agent import wait_until
from benchmarks.row import P99, WORST, Peer, Row, Target, spread, tail
from server.door.process import TlsContext
from tests.support.wire.doors import Client, DoorStage, door_stage
from tests.support.wire.ports import free_ports

_PEER: Final = "openssl s_server"
_MEBIBYTE: Final = 2**20
_MEGABYTE: Final = 1e6


class _Measured(NamedTuple):
    cpu: float
    """Seconds of the processor for all bytes."""
    echoes: list[float]
    """Seconds, there and back."""
    resident: int
    """Bytes, with all streams open."""


def door_rows(*, quick: bool) -> list[Row]:
    """Return what streams through the door cost."""
    mebibytes, echoes, streams = (64, 100, 10) if quick else (1024, 2000, 70)
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    found = asyncio.run(_measured(authority, issued, mebibytes, echoes, streams))
    peer = Peer(_PEER, _cpu_of_openssl(authority, issued, mebibytes))
    size = f"{mebibytes:,} MiB to a client of the TLS port"
    return [
        Row(
            what=f"{size}: processor time of the door",
            unit="s",
            figures=spread([found.cpu]),
            samples=1,
            target=Target(2.0),
            peer=peer,
        ),
        Row(
            what="a byte through the door and back",
            unit="ms",
            figures=tail(found.echoes, 1e3),
            samples=echoes,
            target=Target(5.0),
            judged=P99,
        ),
        Row(
            what=f"door with {streams} streams: resident memory",
            unit="MB",
            figures=spread([found.resident / _MEGABYTE]),
            samples=1,
            target=Target(24.0),
            judged=WORST,
        ),
    ]


async def _measured(
    authority: trustme.CA, issued: trustme.LeafCert, mebibytes: int, echoes: int, streams: int
) -> _Measured:
    context = TlsContext(
        certificate=b"".join(each.bytes() for each in issued.cert_chain_pems),
        key=issued.private_key_pem.bytes(),
    )
    async with door_stage(context) as stage:
        client, other = await stage.stream(_trusting(authority))
        times = [await _echo(client, other) for _ in range(echoes)]
        before = processes.cpu_seconds(stage.door.pid)
        await _sent(client, other, mebibytes)
        cpu = processes.cpu_seconds(stage.door.pid) - before
        more = [await _opened(stage, authority) for _ in range(streams - 1)]
        assert len(more) == streams - 1
        return _Measured(cpu, times, processes.resident_bytes(stage.door.pid))


async def _opened(stage: DoorStage, authority: trustme.CA) -> Client:
    client, other = await stage.stream(_trusting(authority))
    await _echo(client, other)
    return client


async def _echo(client: Client, other: socket.socket) -> float:
    loop, began = asyncio.get_running_loop(), perf_counter()
    client.writer.write(b"x")
    await loop.sock_sendall(other, await loop.sock_recv(other, 1))
    await client.reader.readexactly(1)
    return perf_counter() - began


async def _sent(client: Client, other: socket.socket, mebibytes: int) -> None:
    """Send so many bytes from a thread, as a runtime does, and return when they are there."""
    other.settimeout(None)
    data = bytes(_MEBIBYTE)

    def send() -> None:
        for _ in range(mebibytes):
            other.sendall(data)

    thread = threading.Thread(target=send)
    thread.start()
    left = mebibytes * _MEBIBYTE
    while left:
        left -= len(await client.reader.read(_MEBIBYTE))
    thread.join()


def _trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def _cpu_of_openssl(
    authority: trustme.CA, issued: trustme.LeafCert, mebibytes: int
) -> float | None:
    """Return the seconds that it takes for a file of that size; None if there is no such program."""
    with TemporaryDirectory(prefix="actorlet-bench-") as folder:
        place, (port,) = Path(folder), free_ports(1)
        issued.private_key_and_cert_chain_pem.write_to_path(place / "pair.pem")
        with (place / "data").open("wb") as file:
            file.truncate(mebibytes * _MEBIBYTE)
        command = ("openssl", "s_server", "-WWW", "-quiet", "-accept", f"127.0.0.1:{port}")
        try:
            server = subprocess.Popen([*command, "-cert", "pair.pem"], cwd=place)
        except FileNotFoundError:
            return None
        with server:
            _wait_for(port)
            _read_all(authority, port)
            cpu = processes.cpu_seconds(server.pid)
            server.kill()
        return cpu


def _wait_for(port: int) -> None:
    def is_there() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionError:
            return False
        return True

    wait_until(is_there, poll_every=0.01)


def _read_all(authority: trustme.CA, port: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        _trusting(authority).wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(b"GET /data HTTP/1.0\r\n\r\n")
        while connection.recv(_MEBIBYTE):
            pass
