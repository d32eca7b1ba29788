"""What the program that makes and reads certificates does, in a process, in this one, and in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from actors.certificates.key_process import answer
from actors.certificates.key_program import AskKeys, KeyProgram, UnusableError, ask_process
from actors.certificates.pairs import Pair, WantedNames
from messages.units import Timestamp
from tests.support.certificates.fake_keys import FakeKeys
from tests.support.kernel.clock import EPOCH

PROGRAMS: Final[dict[str, AskKeys]] = {
    "in a process": ask_process,
    "in this process": answer,
    "in memory": FakeKeys(),
}
WANTED: Final = WantedNames.of("n1", ["192.0.2.7", "2001:db8::7"])


@pytest.fixture(params=sorted(PROGRAMS))
def program(request: pytest.FixtureRequest) -> KeyProgram:
    return KeyProgram(PROGRAMS[request.param])


@pytest.fixture
def made(program: KeyProgram) -> Pair:
    return program.make(WANTED, EPOCH)


def test_a_certificate_that_is_made_says_whom_it_is_for_and_counts_for_a_year(made: Pair) -> None:
    assert (made.names, made.addresses) == (("n1",), ("192.0.2.7", "2001:db8::7"))
    assert (made.since, made.until) == (EPOCH - 3600, EPOCH + 365 * 86_400)
    assert made.is_self_signed


def test_a_certificate_without_addresses_is_for_none(program: KeyProgram) -> None:
    assert program.make(WantedNames.of("n1", ()), EPOCH).addresses == ()


def test_what_was_made_is_read_as_it_is(program: KeyProgram, made: Pair) -> None:
    assert program.read(made.certificate, made.key) == made


def test_an_expired_certificate_is_read_like_any_other(program: KeyProgram) -> None:
    old = program.make(WANTED, Timestamp(86_400.0))
    assert program.read(old.certificate, old.key) == old


def test_a_key_does_not_fit_another_certificate(program: KeyProgram, made: Pair) -> None:
    another = program.make(WANTED, EPOCH)
    with pytest.raises(UnusableError, match=r"^the key does not fit the certificate$"):
        program.read(made.certificate, another.key)


UNUSABLE: Final[dict[str, Callable[[Pair], tuple[bytes, bytes]]]] = {
    "there is no PEM certificate": lambda pair: (b"", pair.key),
    "there is a certificate that cannot be read": lambda pair: (pair.certificate[:120], pair.key),
    "there is no PEM key": lambda pair: (pair.certificate, pair.certificate),
    "the key cannot be read": lambda pair: (pair.certificate, pair.key[:30]),
    "it is no PEM": lambda pair: (b"\xff" + pair.certificate, pair.key),
}


@pytest.mark.parametrize("why", UNUSABLE)
def test_of_what_cannot_be_used_it_is_said_why(program: KeyProgram, made: Pair, why: str) -> None:
    certificate, key = UNUSABLE[why](made)
    with pytest.raises(UnusableError, match=f"^{why}$"):
        program.read(certificate, key)


def test_authorities_are_any_number_of_certificates(program: KeyProgram, made: Pair) -> None:
    two = b"# ours\n" + made.certificate + program.make(WANTED, EPOCH).certificate
    assert program.read_authorities(two) == two


@pytest.mark.parametrize("pem", [b"", b"nobody", b"\xff"])
def test_what_holds_no_certificate_is_no_authority(program: KeyProgram, pem: bytes) -> None:
    with pytest.raises(UnusableError, match=r"^(there is no PEM certificate|it is no PEM)$"):
        program.read_authorities(pem)


def test_nothing_that_is_printed_of_a_pair_shows_its_key(made: Pair) -> None:
    shown = repr(made) + repr(made.fact(is_own=True))
    assert "PRIVATE" not in shown
    assert made.key.splitlines()[1].decode() not in shown
