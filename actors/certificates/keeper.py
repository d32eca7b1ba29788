"""CertificateKeeper: tells with which certificate this node serves TLS, and whose clients it takes.

What files hold is found by ``checking``, on a thread for that. This file is the actor around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final, assert_never

import structlog
from typing_extensions import override

from actors.certificates.checking import CertificateCheck, CheckedCertificates
from kernel import Failure, Key, Lane, OperationsMemory, PooledActor, job
from messages.certificates import (
    AuthoritiesAre,
    CertificateDescribed,
    CertificateFact,
    CertificateMessage,
    DescribeCertificate,
    FollowCertificates,
)
from messages.port import Port
from messages.units import Seconds

LOOK_EVERY: Final = Seconds(1.0)
"""How often configured files are looked at."""
CHECK_EVERY: Final = Seconds(10.0)
"""How often the node's own certificate is compared with its addresses, and what failed is tried again."""
LONGEST_CHECK: Final = Seconds(150.0)
"""A check that takes longer hangs: the program is ended after 30 s, and is asked four times at most."""

_log = structlog.get_logger("certificates")

CERTIFICATE_KEEPER: Final = Key[CertificateMessage]("certificates")


@dataclass(slots=True)
class CertificateMemory:
    """What outlives a life of the keeper."""

    checked: CheckedCertificates = field(default_factory=CheckedCertificates)
    followers: dict[Port[CertificateFact], None] = field(default_factory=dict)
    """In the order in which they subscribed. They are told in this order."""
    failure: str = ""
    """Why the last check found nothing; empty if it did."""
    said: tuple[str, ...] = ()
    """What is wrong, as the log has it."""


class CertificateKeeper(PooledActor[CertificateMessage]):
    """Keeps the serving certificate and the authorities of clients current, and tells both.

    Owns: the certificate in use with its key, the authorities in use, the files of the certificate directory.
    Hears: ``FollowCertificates``, ``DescribeCertificate``.
    Tells: followers ``CertificateIs`` and ``AuthoritiesAre``, each when it is known and when it changes.
    Fails when: it has a bug. Whatever files hold is a certificate or a trouble, which the log says once, and
    once that it is over.

    Configured files come first. Until they have held a pair that fits, the node's own certificate is in use.
    What was good once is in use until there is something better, whatever becomes of its files. One check is
    under way at a time; it may block, so it is done in ``lane``.

    Order: a certificate and authorities of one check are told in this order, in one turn. Repetition: both
    are told again to all in a new life, and to one who subscribes again.
    """

    def __init__(self, check: CertificateCheck, lane: Lane, memory: CertificateMemory) -> None:
        self._check = check
        self._lane = lane
        self._memory = memory

    @override
    def started(self) -> None:
        self._jobs = self.operations(OperationsMemory[None](), self._take)
        self._next = self.alarm(self._begin)
        # The life before may have ended amid what it told.
        self._tell(self._facts())
        self._begin()

    @override
    def receive(self, message: CertificateMessage, /) -> None:
        match message:
            case FollowCertificates(subscriber=subscriber):
                self._memory.followers[subscriber] = None
                for fact in self._facts():
                    subscriber.tell(fact)
            case DescribeCertificate(reply_to=reply_to):
                reply_to.tell(self._described())
            case _:
                assert_never(message)

    def _begin(self) -> None:
        directory = self._check.options.directory
        work = partial(self._check.run, self._memory.checked, self.clock.wall())
        # Its turn outlives this life: two never write the same files.
        turn = CERTIFICATE_KEEPER.path, directory
        self._jobs.begin(None, job(work, self._lane, LONGEST_CHECK, turn))

    def _take(self, _purpose: None, outcome: CheckedCertificates | Failure) -> None:
        """Take what a check has found, and set the time of the next one."""
        memory, before = self._memory, self._facts()
        memory.failure = ""
        if isinstance(outcome, Failure):
            memory.failure = f"certificates cannot be checked: {outcome.error}"
        else:
            memory.checked = outcome
        news = [fact for fact in self._facts() if fact not in before]
        self._log(news)
        self._tell(news)
        is_well = not memory.failure and memory.checked.is_answered
        is_quick = is_well and self._check.options.has_files
        self._next.after(LOOK_EVERY if is_quick else CHECK_EVERY)

    def _facts(self) -> list[CertificateFact]:
        checked = self._memory.checked
        return [each for each in (checked.certificate, checked.client_authorities) if each]

    def _tell(self, facts: Iterable[CertificateFact]) -> None:
        for fact in facts:
            for follower in self._memory.followers:
                follower.tell(fact)

    def _described(self) -> CertificateDescribed:
        memory = self._memory
        described = self._check.described(memory.checked, self.clock.wall())
        failures = (memory.failure,) if memory.failure else ()
        return replace(described, troubles=failures + described.troubles)

    def _log(self, news: Iterable[CertificateFact]) -> None:
        """Log what is new, and each trouble once."""
        described = self._described()
        for fact in news:
            if isinstance(fact, AuthoritiesAre):
                _log.info("authorities of clients", path=str(self._check.options.authorities_file))
            else:
                until = datetime.fromtimestamp(fact.until, UTC).isoformat()
                reason = self._memory.checked.own.made_because if fact.is_own else ""
                made = {"made_because": reason} if reason else {}
                _log.info("serving certificate", source=described.source, until=until, **made)
        said, self._memory.said = self._memory.said, described.troubles
        for trouble in described.troubles:
            if trouble not in said:
                _log.warning("certificates are not as they should be", reason=trouble)
        if said and not described.troubles:
            _log.info("certificates are as they should be again")
