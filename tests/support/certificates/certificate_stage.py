"""CertificateKeeper on a stage: real files, and a program of certificates in memory.

``node`` is the certificate directory, and ``configured`` has what somebody configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from actors.certificates.checking import CertificateCheck, CertificateOptions
from actors.certificates.keeper import CERTIFICATE_KEEPER, CertificateKeeper, CertificateMemory
from kernel import Port, Runtime, SupervisorSpec, isolated
from messages.certificates import (
    CertificateDescribed,
    CertificateFact,
    CertificateIs,
    CertificateMessage,
    DescribeCertificate,
    FollowCertificates,
)
from messages.units import Timestamp
from tests.support.certificates.fake_keys import FakeKeys
from tests.support.kernel.clock import EPOCH
from tests.support.kernel.hand_lanes import HandLanes
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class IssuedFiles:
    """What somebody issued: the contents of two files."""

    certificate: bytes
    key: bytes
    until: Timestamp


class CertificateStage:
    """The keeper at work, the files that it sees, and what it told."""

    def __init__(self, folder: Path, runtime: Runtime | None = None) -> None:
        self.node = folder / "pki"
        self.configured = folder / "configured"
        self.configured.mkdir(parents=True)
        self.keys = FakeKeys()
        self.lanes = HandLanes()
        self.addresses: tuple[str, ...] = ("192.0.2.7",)
        self.has_pair = self.has_authorities = False
        """Whether files are configured."""
        self.told: Probe[CertificateFact] = Probe()
        self.logged: list[MutableMapping[str, Any]] = []
        self._runtime = runtime
        self._new_process()

    def _new_process(self) -> None:
        keeper = isolated(CERTIFICATE_KEEPER, self._make)
        self.memory = CertificateMemory()
        self.play = Stage(SupervisorSpec(name="root", children=(keeper,)), self._runtime)

    def _make(self) -> CertificateKeeper:
        check = CertificateCheck(self._options(), self.keys)
        return CertificateKeeper(check, self.lanes["disk"], self.memory)

    def _options(self) -> CertificateOptions:
        return CertificateOptions(
            node_name="n1",
            addresses=lambda: self.addresses,
            directory=self.node,
            certificate_file=self.configured / "tls.crt" if self.has_pair else None,
            key_file=self.configured / "tls.key" if self.has_pair else None,
            authorities_file=self.configured / "ca.crt" if self.has_authorities else None,
        )

    # --- the agent -----------------------------------------------------------------------------------

    def starts(self) -> CertificateIs | None:
        """Start the keeper with one follower. Return what that was told of a certificate."""
        self.play.start()
        self.follows()
        return self.certificate()

    def starts_again(self) -> CertificateIs | None:
        """End the agent, and start the next one."""
        self.play.stop()
        self._runtime = None
        self._new_process()
        return self.starts()

    def crashes(self) -> None:
        """Have the keeper crash, and live again."""
        self.play.system.crash(CERTIFICATE_KEEPER.path)
        self.play.advance(1.0)

    def follows(self) -> None:
        """Have the follower subscribe."""
        self.play.tell(CERTIFICATE_KEEPER, FollowCertificates(subscriber=self.told))

    def facts(self) -> list[CertificateFact]:
        """Return what was told since the last look."""
        return self.told.drain()

    def certificate(self) -> CertificateIs | None:
        """Return the last certificate that was told since the last look; None if none was."""
        told = [each for each in self.facts() if isinstance(each, CertificateIs)]
        return told[-1] if told else None

    def described(self) -> CertificateDescribed:
        """Return what the keeper answers."""

        def question(reply_to: Port[CertificateDescribed]) -> CertificateMessage:
            return DescribeCertificate(reply_to=reply_to)

        return self.play.ask(CERTIFICATE_KEEPER, question)

    def warnings(self) -> list[str]:
        """Return the reasons of the warnings that were logged since the last look."""
        logged, self.logged[:] = [*self.logged], []
        return [each["reason"] for each in logged if each["log_level"] == "warning"]

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.play.advance(seconds)

    # --- files ---------------------------------------------------------------------------------------

    def issued(self, name: str = "n1", days: float = 90.0, **facts: Any) -> IssuedFiles:
        """Return what an authority has issued now."""
        now = EPOCH + self.play.clock.monotonic()
        said = {
            "names": [name],
            "addresses": [],
            "since": now,
            "until": now + days * DAY,
            "is_self_signed": False,
            **facts,
        }
        made = self.keys.issued(**said)
        return IssuedFiles(made["certificate"].encode(), made["key"].encode(), made["until"])

    def configures(self, files: IssuedFiles) -> None:
        """Put both files in the place of what is configured, one after the other."""
        self.puts("tls.key", files.key)
        self.puts("tls.crt", files.certificate)

    def puts(self, name: str, content: bytes) -> None:
        """Put one file in the place of a configured one."""
        new = self.configured / ".new"
        new.write_bytes(content)
        new.replace(self.configured / name)

    def leaves(self, files: IssuedFiles) -> None:
        """Have another process leave its own pair in the certificate directory."""
        self.node.mkdir(exist_ok=True)
        (self.node / "kubelet.crt").write_bytes(files.certificate)
        (self.node / "kubelet.key").write_bytes(files.key)

    def kept(self) -> Mapping[str, bytes]:
        """Return the files of the certificate directory."""
        return {file.name: file.read_bytes() for file in sorted(self.node.iterdir())}


@contextmanager
def certificate_stage(folder: Path, runtime: Runtime | None = None) -> Iterator[CertificateStage]:
    """Give a stage for the ``with`` block, not started yet, and stop it in any case."""
    stage = CertificateStage(folder, runtime)
    with structlog.testing.capture_logs() as logged:
        stage.logged = logged
        yield stage
        stage.play.stop()
