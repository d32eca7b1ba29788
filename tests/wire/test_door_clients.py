"""Clients that the door has to bear: odd certificates, many of one kind, and machines that vanish."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from server.door.connections import Tls
from server.door.messages import in_memory
from server.door.program import MOST, SHARE
from tests.support.wire.doors import DoorStage, Keys, door_stage

NAME_THAT_IS_NO_TEXT = b"\x30\x04\x82\x02\xff\xfe"
"""A DNS name of two bytes, among the alternative names of a certificate."""

Story = Callable[[DoorStage, Keys], Coroutine[Any, Any, None]]


def told(story: Story, *clients: trustme.CA) -> None:
    """Have a story happen at a door that knows the authorities of these clients."""
    keys = Keys()

    async def happens() -> None:
        async with door_stage(keys.context(*clients)) as stage:
            await story(stage, keys)

    asyncio.run(happens())


def odd_certificate(authority: trustme.CA) -> bytes:
    """Return a certificate and its key, with a name that is no text."""
    key, issuer = ec.generate_private_key(ec.SECP256R1()), authority.private_key_pem.bytes()
    now, day = datetime.now(UTC), timedelta(days=1)
    names = x509.UnrecognizedExtension(x509.SubjectAlternativeName.oid, NAME_THAT_IS_NO_TEXT)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "alice")]))
        .issuer_name(x509.load_pem_x509_certificate(authority.cert_pem.bytes()).subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(names, critical=False)
        .sign(serialization.load_pem_private_key(issuer, None), hashes.SHA256())  # type: ignore[arg-type]
    )
    plain = serialization.NoEncryption()
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return certificate.public_bytes(pem) + key.private_bytes(pem, form, plain)


def test_a_certificate_with_a_name_that_is_no_text_does_not_end_the_door(tmp_path: Path) -> None:
    people = trustme.CA()
    path = tmp_path / "odd.pem"
    path.write_bytes(odd_certificate(people))

    async def story(stage: DoorStage, keys: Keys) -> None:
        other, _ = await stage.stream(keys.client())
        odd = keys.client()
        odd.load_cert_chain(path)
        await stage.is_refused(odd)
        await stage.agent.has_refused("broken handshake")
        await other.says(b"goes on")

    told(story, people)


def test_who_has_no_certificate_leaves_room_for_those_who_have_one() -> None:
    people = trustme.CA()

    async def story(stage: DoorStage, keys: Keys) -> None:
        nobody = keys.client()
        for count in range(int(MOST * SHARE)):
            await stage.comes(nobody, f"127.0.0.{count % 2 + 2}")
        await stage.is_refused(nobody)
        await stage.agent.has_refused("too many connections of a user")
        await stage.comes(keys.client(people, "alice"))

    told(story, people)


def test_a_client_whose_machine_vanishes_is_noticed_and_small_writes_go_at_once() -> None:
    context = Keys().context()
    files = (in_memory("certificate", context.certificate), in_memory("key", context.key))
    tls = Tls({"least": context.least, "ciphers": ""}, files)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        end = tls.accepted(listener.accept()[0])
        assert end.tls.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert end.tls.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert end.tls.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3
        assert end.tls.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        end.close()
