"""One check of all that the keeper knows: what files hold, and which certificate is in use. It may block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from actors.certificates.configured import Configured, reread
from actors.certificates.key_program import AskKeys, KeyProgram, ask_process
from actors.certificates.own import OwnFiles, OwnPair, checked_own
from actors.certificates.pairs import Pair, WantedNames
from messages.certificates import AuthoritiesAre, CertificateDescribed, CertificateIs
from messages.units import Timestamp

ReadAddresses: TypeAlias = Callable[[], tuple[str, ...]]
"""Returns the IP addresses of the node at present. On any thread; neither raises nor blocks for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateOptions:
    """Which certificate the node serves with, and whose clients it takes."""

    node_name: str
    addresses: ReadAddresses
    directory: Path
    """The certificate directory. It need not exist."""
    certificate_file: Path | None = None
    """With ``key_file``, or neither: then the node has one of its own."""
    key_file: Path | None = None
    authorities_file: Path | None = None

    @property
    def pair_files(self) -> tuple[Path, ...]:
        """The configured certificate and its key; empty if there are none."""
        files = self.certificate_file, self.key_file
        return tuple(file for file in files if file is not None)

    @property
    def authorities_files(self) -> tuple[Path, ...]:
        """The configured authorities; empty if there are none."""
        return () if self.authorities_file is None else (self.authorities_file,)

    @property
    def has_files(self) -> bool:
        """Whether any file is configured."""
        return bool(self.pair_files or self.authorities_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCertificates:
    """What the last check has found, and what of earlier ones is still in use."""

    configured: Configured[Pair] = field(default_factory=Configured)
    authorities: Configured[bytes] = field(default_factory=Configured)
    own: OwnPair = field(default_factory=OwnPair)

    @property
    def certificate(self) -> CertificateIs | None:
        """What followers are told of the certificate; None while there is none."""
        if self.configured.value is not None:
            return self.configured.value.fact(is_own=False)
        return self.own.pair.fact(is_own=True) if self.own.pair is not None else None

    @property
    def client_authorities(self) -> AuthoritiesAre | None:
        """What followers are told of the authorities; None while there are none."""
        pem = self.authorities.value
        return None if pem is None else AuthoritiesAre(pem=pem)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong, one line each."""
        own = self.own.trouble if self.configured.value is None else ""
        return tuple(filter(None, (self.configured.trouble, self.authorities.trouble, own)))

    @property
    def is_answered(self) -> bool:
        """Whether the program gave an answer whenever it was asked."""
        configured = (self.configured, self.authorities)
        return self.own.is_answered and all(
            each.is_answered for each in configured if each.listings
        )


class CertificateCheck:
    """Checks files and certificate. One thread at a time may do so."""

    def __init__(self, options: CertificateOptions, ask: AskKeys = ask_process) -> None:
        self.options = options
        self._program = KeyProgram(ask)
        self._own_files = OwnFiles(options.directory)

    def run(self, before: CheckedCertificates, now: Timestamp) -> CheckedCertificates:
        """Return what is so at ``now``. Blocks as files and the program do. Raises nothing."""
        options, program = self.options, self._program
        configured, authorities, own = before.configured, before.authorities, before.own
        if options.pair_files:
            configured = reread(configured, options.pair_files, program.read, now)
        if options.authorities_files:
            read = program.read_authorities
            authorities = reread(authorities, options.authorities_files, read, now)
        if configured.value is None:
            wanted = WantedNames.of(options.node_name, options.addresses())
            own = checked_own(own, self._own_files, program, wanted, now)
        return CheckedCertificates(configured=configured, authorities=authorities, own=own)

    def described(self, checked: CheckedCertificates, now: Timestamp) -> CertificateDescribed:
        """Return what is told of ``checked`` to those who ask."""
        fact = checked.certificate
        if fact is None:
            return CertificateDescribed(troubles=checked.troubles)
        source = self._own_files.certificate if fact.is_own else self.options.certificate_file
        expired = (f"{source} has expired",) if fact.until <= now else ()
        return CertificateDescribed(
            source=str(source),
            is_own=fact.is_own,
            until=fact.until,
            names=fact.names,
            addresses=fact.addresses,
            troubles=expired + checked.troubles,
        )
