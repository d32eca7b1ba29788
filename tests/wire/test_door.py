"""The door: whom it lets in, and that bytes pass it whole, in order, and whatever becomes of the agent."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.support.patience import PATIENCE
from tests.support.wire.doors import Client, DoorStage, Keys, door_stage

Story = Callable[[DoorStage, Keys], Coroutine[Any, Any, None]]


def status_of(pid: int) -> dict[str, str]:
    """Return what the kernel says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def told(story: Story, *clients: trustme.CA) -> None:
    """Have a story happen at a door that knows the authorities of these clients."""
    keys = Keys()

    async def happens() -> None:
        async with door_stage(keys.context(*clients)) as stage:
            await story(stage, keys)

    asyncio.run(happens())


def test_the_agent_is_told_who_a_certificate_is_for() -> None:
    people = trustme.CA()

    async def story(stage: DoorStage, keys: Keys) -> None:
        await stage.comes(keys.client(people, "alice"))
        opened = await stage.agent.next()
        names = dict(pair for (pair,) in opened.told["subject"])
        assert names["commonName"] == "alice"
        assert names["organizationName"] == "people"
        assert opened.told["peer"] == "127.0.0.1"

        await stage.comes(keys.client())
        assert "subject" not in (await stage.agent.next()).told

    told(story, people)


def test_who_has_a_certificate_of_strangers_is_not_let_in() -> None:
    async def story(stage: DoorStage, keys: Keys) -> None:
        await stage.is_refused(keys.client(trustme.CA(), "mallory"))
        await stage.agent.has_refused("unknown authority")
        assert stage.agent.connections.empty()

    told(story, trustme.CA())


def test_what_speaks_no_tls_is_refused() -> None:
    async def story(stage: DoorStage, _keys: Keys) -> None:
        with socket.create_connection(("127.0.0.1", stage.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            await stage.agent.has_refused("protocol")

    told(story)


def test_a_new_certificate_counts_from_the_next_connection_on_and_an_authority_that_went_does_not() -> (
    None
):
    people = trustme.CA()

    async def story(stage: DoorStage, keys: Keys) -> None:
        before = await stage.comes(keys.client(people, "alice"))
        other = Keys()
        stage.door.use(other.context(trustme.CA()))
        await stage.is_refused(other.client(people, "alice"))
        await stage.comes(other.client())
        opened = await stage.agent.next()
        await asyncio.get_running_loop().sock_sendall(opened.connection, b"still")
        assert await before.gets(5) == b"still"

    told(story, people)


@pytest.mark.parametrize("seed", range(3))
def test_bytes_of_many_streams_arrive_whole_both_ways_at_once(seed: int) -> None:
    luck = random.Random(seed)

    async def copied(stage: DoorStage, client: Client, other: socket.socket, first: bytes) -> None:
        loop = asyncio.get_running_loop()
        down, up = luck.randbytes(luck.randrange(2**21)), luck.randbytes(luck.randrange(2**21))

        async def other_reads() -> bytes:
            read = b""
            while len(read) < len(up):
                read += await asyncio.wait_for(loop.sock_recv(other, 2**16), PATIENCE)
            return read

        taken, got, *_ = await asyncio.gather(
            other_reads(),
            client.gets(len(first) + len(down)),
            loop.sock_sendall(other, down),
            client.says(up),
        )
        assert sha256(taken).digest() == sha256(up).digest()
        assert sha256(got).digest() == sha256(first + down).digest()
        other.close()
        assert await client.gets_all() == b""
        assert (await asyncio.wait_for(stage.agent.ends.get(), PATIENCE))[1:] > (0, 0)

    async def story(stage: DoorStage, keys: Keys) -> None:
        firsts = [luck.randbytes(luck.randrange(100)) for _ in range(8)]
        # One after the other: who comes next is who the agent is told of next.
        streams = [await stage.stream(keys.client(), first) for first in firsts]
        await asyncio.gather(
            *(copied(stage, *each, first) for each, first in zip(streams, firsts, strict=True))
        )

    told(story)


def test_who_ends_first_gets_nothing_more_and_the_client_gets_what_was_written() -> None:
    async def story(stage: DoorStage, keys: Keys) -> None:
        loop = asyncio.get_running_loop()
        client, other = await stage.stream(keys.client())
        data = os.urandom(2**20)
        sending = asyncio.create_task(loop.sock_sendall(other, data))
        got = await client.gets(len(data) - 10)
        await sending
        other.close()
        assert got + await client.gets_all() == data

        client, other = await stage.stream(keys.client())
        client.writer.close()
        assert await asyncio.wait_for(loop.sock_recv(other, 1), PATIENCE) == b""

    told(story)


def test_streams_go_on_when_the_agent_has_ended_and_plain_connections_do_not() -> None:
    async def story(stage: DoorStage, keys: Keys) -> None:
        loop = asyncio.get_running_loop()
        plain = await stage.comes(keys.client())
        await stage.agent.next()
        client, other = await stage.stream(keys.client())
        stage.door.close()
        assert await plain.gets_all() == b""
        await client.says(b"still")
        assert await asyncio.wait_for(loop.sock_recv(other, 10), PATIENCE) == b"still"
        other.close()
        assert await client.gets_all() == b""

    told(story)


def test_the_door_keeps_none_of_the_rights_of_root() -> None:
    async def story(stage: DoorStage, keys: Keys) -> None:
        await stage.comes(keys.client())
        await stage.agent.next()
        status = status_of(stage.door.pid)
        assert set(status["Uid"].split()) == {"65534"}
        assert set(status["Gid"].split()) == {"65534"}
        assert status["Groups"].split() == []
        assert status["NoNewPrivs"] == "1"
        assert int(status["CapEff"], 16) == 0
        assert status["Threads"] == "1"

    told(story)
