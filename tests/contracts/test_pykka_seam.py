"""What the kernel relies on in Pykka 4.5, so that an upgrade that changes it fails here.

And what Pykka's own way in (references, proxies, its registry) does to actors of this kernel.
"""

from __future__ import annotations

import queue
import re
from pathlib import Path

import pykka
import pytest
from pykka._envelope import Envelope
from pykka.messages import ProxyCall, ProxyGetAttr, ProxySetAttr, _ActorStop
from typing_extensions import override

from kernel import Actor, EndReason, PooledActor, Runtime, SupervisorSpec, mailbox
from tests.support.kernel.players import Do, Player, Repeat, Say, Troupe, key
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage
from tests.support.patience import PATIENCE

WEB, LOG = key("web"), key("log")

ROOT = Path(__file__).parents[2]
KNOW_PYKKA = {"kernel", "benchmarks", "tests/contracts"}
"""Who imports Pykka: the kernel, its contracts, and what measures the kernel beside it."""


class PlainPykkaActor(pykka.ThreadingActor):
    """An actor as Pykka has them."""

    use_daemon_thread = True

    @override
    def on_receive(self, message: object) -> object:
        return message


def player_of(play: Stage) -> Player:
    """Return the actor behind the address: what only the actor itself should hold."""
    players: list[Player] = []
    play.tell(WEB, Do(action=players.append))
    return players[0]


def test_nobody_else_imports_pykka() -> None:
    imports = re.compile(r"^\s*(import|from) pykka", re.MULTILINE)
    files = [p for p in ROOT.glob("*/**/*.py") if not p.relative_to(ROOT).parts[0].startswith(".")]
    found = {str(p.parent.relative_to(ROOT)) for p in files if imports.search(p.read_text())}
    assert found == KNOW_PYKKA


# What Pykka does.


def test_a_reference_looks_at_four_things_of_its_actor(play: Stage) -> None:
    player = player_of(play)

    assert set(vars(player.actor_ref)) == {
        "_actor_weakref",
        "actor_class",
        "actor_urn",
        "actor_inbox",
        "actor_stopped",
    }
    assert player.actor_ref.actor_urn == "web"
    assert player.actor_ref.actor_class is type(player)


def test_an_envelope_has_two_slots() -> None:
    envelope = Envelope("message")

    assert tuple(Envelope.__slots__) == ("message", "reply_to")
    assert (envelope.message, envelope.reply_to) == ("message", None)


def test_an_actor_type_needs_three_extension_methods() -> None:
    assert pykka.Actor.__abstractmethods__ == {
        "_create_actor_inbox",
        "_create_future",
        "_start_actor_loop",
    }


def test_a_reference_tells_stops_and_calls_by_messages() -> None:
    told: list[object] = []

    class Inbox:
        def put(self, envelope: Envelope[object]) -> None:
            told.append(envelope.message)

    plain = PlainPykkaActor()
    plain.actor_inbox = Inbox()  # type: ignore[assignment]  # the part that references use
    reference = pykka.ActorRef(plain)

    reference.tell("hello")
    reference.stop(block=False)
    reference.proxy().on_receive.defer("argument")
    assert told == ["hello", _ActorStop(), ProxyCall(("on_receive",), ("argument",), {})]


def test_a_future_is_set_once() -> None:
    future: pykka.ThreadingFuture[str] = pykka.ThreadingFuture()
    future.set("first")

    with pytest.raises(queue.Full):
        future.set("second")
    with pytest.raises(queue.Full):
        future.set_exception((ValueError, ValueError(), None))
    assert future.get(timeout=0) == "first"


def test_a_future_raises_what_was_set() -> None:
    future: pykka.ThreadingFuture[str] = pykka.ThreadingFuture()
    error = LookupError("nothing there")
    future.set_exception((LookupError, error, None))

    with pytest.raises(LookupError) as raised:
        future.get(timeout=0)
    assert raised.value is error


def test_a_future_that_is_not_set_times_out() -> None:
    with pytest.raises(pykka.Timeout):
        pykka.ThreadingFuture[str]().get(timeout=0)


def test_pykkas_own_loop_does_not_report_a_failing_start() -> None:
    # Why the turn function is the kernel's own.
    reports: list[object] = []

    class Failing(PlainPykkaActor):
        @override
        def on_start(self) -> None:
            raise RuntimeError("a bug")

        @override
        def on_failure(self, *arguments: object) -> None:
            reports.append(arguments)

    reference = Failing.start()
    assert reference.actor_stopped.wait(PATIENCE)
    assert reports == []


# What the seal makes of it.


@pytest.mark.parametrize("kind", [Actor, PooledActor])
def test_an_actor_cannot_be_started_past_its_supervisor(kind: type[Actor[str]]) -> None:
    with pytest.raises(TypeError, match="started by its supervisor"):
        kind.start()


@pytest.mark.parametrize("kind", [Actor, PooledActor])
def test_an_actor_makes_no_inbox_of_its_own(kind: type[Actor[str]]) -> None:
    with pytest.raises(TypeError, match="belongs to its address"):
        kind._create_actor_inbox()
    assert isinstance(kind._create_future(), pykka.ThreadingFuture)


def test_a_stop_by_reference_is_an_end_in_order(troupe: Troupe, play: Stage) -> None:
    reference = player_of(play).actor_ref
    assert reference.is_alive()
    assert reference.stop(timeout=PATIENCE) is True
    play.settle()

    assert play.endings[0].reason is EndReason.NORMAL
    troupe.diary.expect("web starts 1", "web stops")
    assert not reference.is_alive()
    assert reference.stop(timeout=PATIENCE) is False


def test_a_stop_told_as_a_message_is_an_end_in_order(troupe: Troupe, play: Stage) -> None:
    player_of(play).actor_ref.tell(_ActorStop())
    play.settle()

    troupe.diary.expect("web starts 1", "web stops")


def test_stopping_everybody_in_pykkas_registry_stops_nobody_here(
    troupe: Troupe, play: Stage
) -> None:
    plain = PlainPykkaActor.start()
    assert pykka.ActorRegistry.get_all() == [plain]  # noqa: TID251  # what is tested

    pykka.ActorRegistry.stop_all()  # noqa: TID251  # what is tested
    play.tell(WEB, Say(word="still here"))

    assert not plain.is_alive()
    troupe.diary.expect("web starts 1", "web hears still here")
    assert play.endings == []


def test_a_message_told_by_reference_arrives(troupe: Troupe, play: Stage) -> None:
    player = player_of(play)
    player.actor_ref.tell(Say(word="hello"))
    play.settle()

    troupe.diary.expect("web starts 1", "web hears hello")
    assert player.actor_inbox.empty()


@pytest.mark.parametrize(
    "message",
    [
        Repeat(word="hello", reply_to=Probe()),
        ProxyCall(("receive",), (), {}),
        ProxyGetAttr(("name",)),
        ProxySetAttr(("name",), "another"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_question_by_reference_is_refused(play: Stage, message: object) -> None:
    with pytest.raises(TypeError, match="no proxies, and are asked through their system"):
        player_of(play).actor_ref.ask(message, timeout=PATIENCE)

    assert play.endings == []


def test_a_proxy_message_is_refused_to_who_tells_it(play: Stage) -> None:
    with pytest.raises(TypeError, match="no proxies: tell them messages"):
        player_of(play).actor_ref.tell(ProxyCall(("receive",), (), {}))

    assert play.endings == []


def test_only_the_kernel_takes_from_a_mailbox(troupe: Troupe, runtime: Runtime) -> None:
    with (
        stage(SupervisorSpec(name="root", children=(troupe.child(WEB),)), runtime) as play,
        pytest.raises(TypeError, match="only the kernel takes"),
    ):
        player_of(play).actor_inbox.get()


def test_pykkas_hooks_are_sealed_and_do_nothing(troupe: Troupe, play: Stage) -> None:
    player = player_of(play)
    player.on_start()
    player.on_receive(Say(word="hello"))
    player.on_failure(None, None, None)
    player.on_stop()
    play.settle()

    troupe.diary.expect("web starts 1")
    troupe.diary.expect_silence()


def test_an_envelope_shows_the_type_of_its_message_and_nothing_of_its_content() -> None:
    future: pykka.Future[str] = pykka.ThreadingFuture()
    assert repr(mailbox.Envelope("the secret", future)) == "Envelope(str)"


def test_an_envelope_is_answered_once() -> None:
    future: pykka.Future[str] = pykka.ThreadingFuture()
    envelope = mailbox.Envelope("question", future)
    envelope.answer("first")
    envelope.answer("second")
    envelope.fail(ValueError("too late"))

    assert future.get(timeout=0) == "first"
