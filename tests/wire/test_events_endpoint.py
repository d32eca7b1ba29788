"""``/events`` as its readers see it: fast, slow, gone and too many."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import dropwhile
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from actors.events.feed_parts import EVENT_FEED
from messages.changes import Op, PodChange
from messages.event_feed import AttachReader, FeedTelling
from messages.objects import (
    Change,
    ChangeAction,
    ChangeDecided,
    ObjectChanged,
    ObjectFact,
    ObjectId,
    ObjectKind,
)
from messages.pod_manager import PodFact, PodsChanged
from messages.pods import FILE, PodUid
from messages.port import Port
from messages.units import Seconds
from server.backend import EventStreamTimeouts
from server.event_streams import MOST_WAITING
from server.limits import MOST_CONNECTIONS, MOST_READERS
from tests.support.agent.process import eventually
from tests.support.agent.served import IMPATIENT, Served, StandIns, served_agent, served_tree
from tests.support.builders import make_pod
from tests.support.canary import CANARY, hidden
from tests.support.kernel.players import Gate
from tests.support.kernel.probe import Probe
from tests.support.patience import PATIENCE, SLOWNESS
from tests.support.wire.client import EventStream, NotYet, event_stream

ADDED: Final = PodsChanged(source=FILE, changes=(PodChange(op=Op.ADD, pod=make_pod("web")),))


def changed(version: str = "7", *, name: str = "db", keys: tuple[str, ...] = ()) -> ObjectChanged:
    """Return what is told of a Secret."""
    return ObjectChanged(
        object=ObjectId(kind=ObjectKind.SECRET, namespace="shop", name=name),
        change=Change.MODIFIED,
        uid="u1",
        resource_version=version,
        keys=keys,
    )


BULKY: Final = changed(keys=tuple(f"key-{number}" for number in range(8_000)))
"""Some 100 kB."""


@pytest.fixture
def agent() -> Iterator[Served]:
    """Return the feed and the endpoints among stand-ins."""
    with served_tree() as agent:
        yield agent


def tell(agent: Served, *facts: PodFact | ObjectFact) -> None:
    """Have the feed told what happened."""
    for fact in facts:
        agent.system.address(EVENT_FEED).tell(fact)


def metric(agent: Served, name: str) -> float:
    """Return the value of a metric without labels; raises ``NotYet`` when nobody says it."""
    for line in agent.get("/metrics").text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.split()[1])
    raise NotYet(f"there is no {name}")


def readers(agent: Served) -> float:
    """Return how many the feed knows."""
    return metric(agent, "actorlet_event_readers")


def connected(stream: EventStream) -> EventStream:
    """Return ``stream`` once it has said so."""
    assert stream.next() == ": connected"
    return stream


def deaf_reader(agent: Served) -> socket.socket:
    """Return a connection that asked for events, whose owner reads nothing."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.settimeout(PATIENCE)
    deaf.connect(("127.0.0.1", agent.port))
    deaf.sendall(b"GET /events?replay=false HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return deaf


def is_over(connection: socket.socket) -> bool:
    """Whether the other side has closed it, or said something."""
    return bool(select.select([connection], [], [], 0.0)[0])


def everything_from(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


# What readers get.


def test_the_answer_is_an_event_stream_that_nobody_stores(agent: Served) -> None:
    with event_stream(agent.port) as stream:
        assert stream.status == 200
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.headers["Cache-Control"] == "no-store"
        assert stream.headers["Connection"] == "close"
        connected(stream)


def test_whatever_happens_once_it_is_connected_is_told_in_order(agent: Served) -> None:
    decided = ChangeDecided(
        pod=PodUid("p1"),
        pod_name="shop/web",
        action=ChangeAction.RESTART,
        signal="",
        delay=Seconds(0.25),
        changed=changed("8"),
    )
    with event_stream(agent.port) as stream:
        connected(stream)
        tell(agent, ADDED, changed(keys=("password", "user")), decided)
        pod = {"op": "ADD", "source": "file", "namespace": "default", "name": "web"}
        assert stream.event() == ("pod", {**pod, "uid": "uid-default-web", "mirror": False})
        secret = {"kind": "Secret", "namespace": "shop", "name": "db"}
        versions = {"uid": "u1", "resourceVersion": "7", "change": "modified", "origin": "api"}
        keys = ["password", "user"]
        assert stream.event() == ("object", {**secret, **versions, "keys": keys})
        wanted = {"pod": "shop/web", "uid": "p1", "action": "restart", "signal": ""}
        delay = {"delaySeconds": 0.25, "resourceVersion": "8", "keys": []}
        assert stream.event() == ("decision", {**wanted, **secret, **delay})


def test_no_name_can_break_the_framing(agent: Served) -> None:
    nasty = "a\nevent: pod\r\n\r\ndata: {}\u2028é"
    with event_stream(agent.port) as stream:
        connected(stream)
        tell(agent, changed(name=nasty, keys=(nasty,)), changed("8"))
        _, first = stream.event()
        assert (first["name"], first["keys"]) == (nasty, [nasty])
        assert stream.event()[1]["resourceVersion"] == "8"


def test_a_burst_is_told_whole_to_who_reads(agent: Served) -> None:
    with event_stream(agent.port) as stream:
        connected(stream)
        tell(agent, *(changed(str(version)) for version in range(5_000)))
        versions = [stream.event()[1]["resourceVersion"] for _ in range(5_000)]
        assert versions == [str(version) for version in range(5_000)]


def test_who_hears_nothing_for_long_hears_that_there_is_nothing() -> None:
    with (
        served_tree(
            stand_ins=StandIns(timeouts=EventStreamTimeouts(keep_alive=Seconds(0.05)))
        ) as agent,
        event_stream(agent.port) as stream,
    ):
        connected(stream)
        assert stream.next() == ": nothing to tell"
        tell(agent, ADDED)
        # More of them may have been on the way.
        told = dropwhile(": nothing to tell".__eq__, iter(stream.next, ""))
        assert next(told).startswith("event")


def test_an_old_client_gets_events_as_well(agent: Served) -> None:
    with socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE) as old:
        old.sendall(b"GET /events HTTP/1.0\r\n\r\n")
        head = b""
        while not head.endswith(b": connected\n\n"):
            head += old.recv(1)
        assert b"chunked" not in head


# Requests that are no reading.


def test_head_is_get_without_the_events(agent: Served) -> None:
    answer = agent.get("/events", "HEAD")
    assert (answer.status, answer.text) == (200, "")
    assert answer.headers["Content-Type"] == "text/event-stream"
    assert agent.actor("event-feed").handled == 0


def test_a_wrong_method_is_told_which_are_right(agent: Served) -> None:
    answer = agent.get("/events", "POST")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")


# Readers that go.


def test_a_reader_that_leaves_is_forgotten_at_once(agent: Served) -> None:
    with event_stream(agent.port) as stream:
        connected(stream)
        assert readers(agent) == 1
    eventually(lambda: readers(agent) == 0)
    assert metric(agent, "actorlet_event_readers_dropped_total") == 0


def test_a_slow_reader_is_dropped_with_a_word_and_holds_up_nobody(agent: Served) -> None:
    with deaf_reader(agent) as deaf, event_stream(agent.port) as stream:
        connected(stream)
        eventually(lambda: readers(agent) == 2)
        told = MOST_WAITING // 100_000 + 50
        for version in range(told):
            tell(agent, BULKY, changed(str(version)))
            stream.next()
            assert stream.event()[1]["resourceVersion"] == str(version)
        eventually(lambda: metric(agent, "actorlet_event_readers_dropped_total") == 1)
        assert readers(agent) == 1
        heard = everything_from(deaf)
        *_, last, end = heard.split(b": dropped")
        assert last.endswith(b"\n\n\r\n57\r\n")
        assert end == (
            b": you do not keep up with what happens; ask for what there is, and come back"
            b"\n\n\r\n0\r\n\r\n"
        )


def test_a_reader_that_reads_nothing_at_all_is_cut_in_the_end() -> None:
    timeouts = EventStreamTimeouts(closing=Seconds(0.1))
    with served_tree(stand_ins=StandIns(timeouts=timeouts)) as agent:
        before = metric(agent, "process_open_fds")
        with deaf_reader(agent) as deaf:
            eventually(lambda: readers(agent) == 1)
            # One by one: what is told at once drops the reader before the kernel's buffers are full.
            for _ in range(80):
                tell(agent, BULKY)
                readers(agent)  # an answer of the loop that also writes to the reader
            # What is left open is this side.
            eventually(lambda: metric(agent, "process_open_fds") == before + 1)
            assert not everything_from(deaf).endswith(b"0\r\n\r\n")


def test_readers_beyond_the_bound_are_told_so_until_one_leaves(agent: Served) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(event_stream(agent.port)) for _ in range(MOST_READERS)]
        assert {connected(stream).status for stream in streams} == {200}
        answer = agent.get("/events")
        assert answer.status == 503
        assert answer.json == {"error": "there are 32 readers already", "code": 503}
    eventually(lambda: readers(agent) == 0)
    with event_stream(agent.port) as stream:
        connected(stream)


def test_a_reader_is_not_cut_for_clients_that_say_nothing(agent: Served) -> None:
    address = ("127.0.0.1", agent.port)
    with event_stream(agent.port) as stream, ExitStack() as stack:
        connected(stream)
        silent = [
            stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            for _ in range(MOST_CONNECTIONS)
        ]
        # The oldest of those is cut, and the reader is older.
        eventually(lambda: agent.get("/healthz").status == 200 and is_over(silent[0]))
        tell(agent, ADDED)
        assert stream.event()[0] == "pod"


# Things that go wrong in the agent.


class Stuck(Port[FeedTelling]):
    """A reader that makes the feed wait, which those of sockets never do."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    @override
    def tell(self, message: FeedTelling, /) -> None:
        self._gate(message)


def test_while_the_feed_does_not_answer_there_are_no_events(gate: Gate) -> None:
    with served_tree(stand_ins=IMPATIENT) as agent:
        feed = agent.system.address(EVENT_FEED)
        feed.tell(AttachReader(reader=Stuck(gate), reply_to=Probe()))
        tell(agent, ADDED)
        answer = agent.get("/events")
        assert answer.status == 503
        assert answer.json["error"] == "event-feed: event-feed did not answer within 0.25 s"
        assert "actorlet_event_readers" not in agent.get("/metrics").text
        gate.open()
        # Who asked in vain is not kept.
        eventually(lambda: readers(agent) == 1)


def test_a_crash_of_the_feed_is_told_and_goes_on(agent: Served) -> None:
    with event_stream(agent.port) as stream:
        connected(stream)
        agent.get("/debug/actors/event-feed/crash", "POST")
        assert stream.next().startswith(": the event feed was restarted")
        tell(agent, ADDED)
        assert stream.event()[0] == "pod"


def test_a_crash_of_the_server_ends_its_readers_with_a_word_and_leaks_none(agent: Served) -> None:
    with event_stream(agent.port) as stream:
        connected(stream)
        agent.get("/debug/actors/http-server/crash", "POST")
        assert stream.rest() == [": the agent's endpoints are closing: come back"]
    eventually(lambda: agent.actor("http-server").restarts == 1)
    eventually(lambda: readers(agent) == 0)


def test_readers_do_not_delay_a_stop_not_even_deaf_ones() -> None:
    with ExitStack() as stack:
        with served_tree() as agent:
            deaf = stack.enter_context(deaf_reader(agent))
            stream = stack.enter_context(event_stream(agent.port))
            connected(stream)
            eventually(lambda: readers(agent) == 2)
            tell(agent, *[BULKY] * 20)
            assert [stream.next()[:13] for _ in range(20)] == ["event: object"] * 20
            began = time.monotonic()
        assert time.monotonic() - began < 3.0 * SLOWNESS
        assert stream.rest() == [": the agent's endpoints are closing: come back"]
        assert not everything_from(deaf).endswith(b"0\r\n\r\n")


# A whole agent.


def test_people_see_a_changed_file_reach_the_pod_that_references_it(tmp_path: Path) -> None:
    manifests, objects = tmp_path / "manifests", tmp_path / "objects"
    manifests.mkdir()
    objects.mkdir(mode=0o700)
    write(objects / "conf.yaml", config_map(hidden("1")))
    with (
        served_agent(manifests, f"--local-objects-dir={objects}") as agent,
        event_stream(agent.port) as stream,
    ):
        connected(stream)
        eventually(lambda: agent.get("/readyz").status == 200)
        write(manifests / "web.yaml", WEB)
        assert '"name":"web-node1"' in stream.until("pod")
        (row,) = eventually(lambda: agent.get("/watchz").document["objects"])
        assert (row["name"], row["origin"], row["state"]) == ("conf", "local", "local")
        # A fence: the files were looked at for the pod, which does not begin with what comes now.
        agent.get("/sourcez")
        write(objects / "conf.yaml", config_map(hidden("2")))
        told = stream.until("object") + stream.until("decision")
        assert '"change":"modified","keys":["colour"]' in told
        assert '"action":"signal","signal":"SIGHUP"' in told
        assert CANARY not in told + agent.get("/watchz").text + agent.get("/sourcez").text


WEB: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    actorlet/on-object-change: signal:SIGHUP
spec:
  containers:
  - name: main
    image: registry.example/web:1
  volumes:
  - name: conf
    configMap:
      name: conf
"""


def config_map(colour: str) -> str:
    """Return a manifest of the ConfigMap that the pod references."""
    return (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\n  namespace: default\n"
        f"data:\n  colour: {colour}\n"
    )


def write(path: Path, text: str) -> None:
    """Write a file in one go, as people who edit under a running agent do."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.rename(path)
