"""Credentials whose reading takes long, or for ever: a command that hangs, a file system that is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PosixPath

import pytest
from typing_extensions import override

from kube.credentials.access import Access, CredentialsError
from kube.credentials.rereading import LoadedAccess, NoteFile, RereadCredentials
from messages.units import Seconds, Timestamp
from tests.support.kernel.clock import ManualClock
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE

LIFE = 300.0
"""Seconds that a token is good for; a new one is asked for 60 before that."""


class Clock(ManualClock):
    """Lets somebody else do something while a caller looks at it."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    @override
    def monotonic(self) -> Seconds:
        meanwhile, self.meanwhile = self.meanwhile, Clock.meanwhile
        meanwhile()
        return super().monotonic()


class TokenService:
    """Where tokens are got: at once, unless it is closed. Nobody waits for it who need not."""

    def __init__(self, file: Path | None = None, longest_wait: float = 3600.0) -> None:
        self.clock = Clock()
        self.file = file
        self.asked = 0
        self.fails = False
        self.is_asked = threading.Event()
        self._is_open = threading.Event()
        self._is_open.set()
        self.credentials = RereadCredentials(
            self._read, self.clock, grace=Seconds(0.0), longest_wait=Seconds(longest_wait)
        )

    def _read(self, note: NoteFile) -> LoadedAccess:
        self.asked += 1
        number = self.asked
        if self.file is not None:
            note(self.file)
        self.is_asked.set()
        self._is_open.wait()
        if self.fails:
            raise CredentialsError("is closed for good")
        now = self.clock.wall()
        return LoadedAccess(
            access=Access(server="https://api", user="n1", authorization=f"Bearer {number}"),
            refresh_at=Timestamp(now + LIFE - 60),
            expires=Timestamp(now + LIFE),
        )

    def token(self) -> str:
        """Return the token that a caller gets."""
        return self.credentials.access().authorization.removeprefix("Bearer ")

    def token_at_once(self) -> str:
        """Return the token that a caller gets who cannot wait."""
        told: Probe[str] = Probe()
        threading.Thread(target=lambda: told.tell(self.token())).start()
        return told.next()

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.move(Seconds(self.clock.monotonic() + seconds))

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Keep everybody waiting who asks meanwhile."""
        self.is_asked.clear()
        self._is_open.clear()
        try:
            yield
        finally:
            self._is_open.set()

    def settles(self) -> None:
        """Wait until nobody is asking any more."""
        for helper in helpers():
            helper.join(PATIENCE)


def helpers() -> list[threading.Thread]:
    """Return the threads that look for credentials."""
    return [thread for thread in threading.enumerate() if thread.name == "credentials"]


@pytest.fixture
def service() -> TokenService:
    service = TokenService()
    assert service.token() == "1"
    return service


def test_a_command_that_hangs_keeps_nobody_from_a_token_that_is_still_good(
    service: TokenService,
) -> None:
    service.later(240.0)
    with service.closed():
        # Neither who finds that it is time for another one, nor who comes meanwhile.
        assert service.token_at_once() == "1"
        assert service.is_asked.wait(PATIENCE)
        service.later(10.0)
        assert service.token_at_once() == "1"
        service.later(49.0)
        assert service.token_at_once() == "1"
        assert service.asked == 2
    service.settles()
    assert service.token_at_once() == "2"


def test_when_its_token_has_ended_everybody_waits_for_the_one_that_hangs(
    service: TokenService,
) -> None:
    service.later(LIFE)
    with ThreadPoolExecutor(3) as threads:
        with service.closed():
            waiting = [threads.submit(service.token) for _ in range(3)]
            assert service.is_asked.wait(PATIENCE)
            assert not any(map(Future.done, waiting))
        assert {each.result(PATIENCE) for each in waiting} == {"2"}
    assert service.asked == 2


def test_a_command_that_hung_in_vain_is_left_alone_for_a_while_after_that(
    service: TokenService,
) -> None:
    service.fails = True
    service.later(240.0)
    with service.closed():
        assert service.token_at_once() == "1"
        service.later(30.0)
    service.settles()
    service.later(4.0)
    assert service.token_at_once() == "1"
    service.settles()
    assert service.asked == 2
    service.later(1.0)
    assert service.token_at_once() == "1"
    service.settles()
    assert service.asked == 3


def test_who_has_no_token_is_not_kept_waiting_for_ever() -> None:
    service = TokenService(longest_wait=0.01)
    with service.closed():
        with pytest.raises(CredentialsError, match=r"^credentials are being read since 0.01 s$"):
            service.token()
        with pytest.raises(CredentialsError):
            service.token()
        assert service.asked == 1
    service.settles()
    assert service.token() == "1"


class Gone(PosixPath):
    """A file on a file system that no longer answers: even looking at it takes as long as that."""

    answers: threading.Event

    @override
    def __fspath__(self) -> str:
        self.answers.wait()
        return super().__fspath__()


@pytest.fixture
def gone(tmp_path: Path) -> Gone:
    (tmp_path / "token").write_text("a")
    file = Gone(tmp_path / "token")
    file.answers = threading.Event()
    file.answers.set()
    return file


def test_a_file_system_that_hangs_takes_no_token_away_and_one_thread_only(gone: Gone) -> None:
    service = TokenService(gone)
    assert service.token() == "1"
    gone.answers.clear()
    for _ in range(5):
        service.later(1.0)
        assert service.token_at_once() == "1"
    assert len(helpers()) == 1
    gone.answers.set()
    service.settles()
    assert service.asked == 1


def test_who_was_refused_gets_another_token_although_somebody_was_just_looking(gone: Gone) -> None:
    service = TokenService(gone)
    refused = service.credentials.access()
    gone.answers.clear()
    service.later(10.0)
    assert service.credentials.access() is refused
    gone.answers.set()
    assert service.credentials.reload(refused).authorization == "Bearer 2"
    assert service.asked == 2


def test_who_was_overtaken_by_another_caller_takes_what_that_one_got(service: TokenService) -> None:
    service.later(LIFE)
    service.clock.meanwhile = service.token
    assert service.token() == "2"
    assert service.asked == 2


def test_where_no_thread_can_be_had_it_is_read_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    service = TokenService()
    monkeypatch.setattr(threading.Thread, "start", start)
    assert service.token() == "1"
    service.later(LIFE)
    assert service.token() == "2"
