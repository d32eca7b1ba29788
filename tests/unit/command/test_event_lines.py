"""Events of the stream, and what people read of each."""

from __future__ import annotations

from itertools import chain

import pytest

from command.event_lines import _SENTENCES, Happening, happenings, sentence

STREAM = b""": connected

event: pod
data: {"op":"ADD","source":"file","namespace":"default","name":"web","uid":"1"}

: nothing to tell

event: status
data: {"namespace":"default","name":"web","phase":"Running","ready":false,"reason":"",
data: "containers":[{"name":"nginx","state":"waiting","reason":"CrashLoopBackOff","restarts":3}]}

event: broken
data: {"no

id: 7
event: object
data: {"kind":"Secret","namespace":"n","name":"s","change":"updated","keys":["a","b"]}

event: decision
data: {"pod":"n/web","action":"signal","signal":"SIGHUP","delaySeconds":2.5,
data: "kind":"Secret","namespace":"n","name":"s"}

event: probe
data: {"namespace":"n","name":"web","container":"nginx","probe":"liveness","result":"failure"}

event: verdict
data: {"path":"/m/web.yaml","verdict":"rejected","reason":"spec (line 3): is required","warnings":["w"],
data: "pod":"n/web"}

event: volume
data: {"namespace":"n","name":"web","troubles":[{"volume":"data","reason":"no space"}]}

event: event
data: {"namespace":"n","name":"web","reason":"BackOff","message":"Back-off restarting","count":3}

event: actor
data: {"name":"source/file","state":"backoff","restarts":1,"lastError":"OSError: no"}

event: state
data: {"state":"complete","message":"the present state is complete","missing":["probes"]}

event: news
data: {"what":"it","more":["a"]}

data: {"only":"data"}

event: cut
data: {"a": 1
"""


@pytest.mark.parametrize("size", [1, 7, 100])
def test_it_does_not_matter_in_which_pieces_a_stream_arrives(size: int) -> None:
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    told = list(chain.from_iterable(happenings(pieces)))
    assert told == list(chain.from_iterable(happenings([STREAM])))


def test_what_ends_in_a_piece_is_told_with_it() -> None:
    begin, end = b'event: pod\ndata: {"op"', b':"ADD"}\n\nevent: pod\n'
    assert [len(each) for each in happenings([begin, end])] == [0, 1]


def test_a_stream_is_events_and_comments_and_passes_over_the_rest() -> None:
    told = list(chain.from_iterable(happenings([STREAM])))
    assert [each.comment or each.name for each in told] == [
        "connected",
        "pod",
        "nothing to tell",
        "status",
        "broken",
        "object",
        "decision",
        "probe",
        "verdict",
        "volume",
        "event",
        "actor",
        "state",
        "news",
        "message",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pod", "default/web is added (file)"),
        ("status", "default/web Running, not ready: nginx waiting (CrashLoopBackOff) x3"),
        ("object", "Secret n/s updated: a, b"),
        ("decision", "n/web signal (SIGHUP) in 2.5 s, because of Secret n/s"),
        ("probe", "n/web nginx liveness: failure"),
        ("verdict", "/m/web.yaml rejected (n/web): spec (line 3): is required; w"),
        ("volume", "n/web data: no space"),
        ("event", "n/web BackOff: Back-off restarting (x3)"),
        ("actor", "source/file backoff, 1 restart: OSError: no"),
        ("state", "the present state is complete; nobody tells probes"),
        ("news", 'what=it, more=["a"]'),
        ("broken", ""),
    ],
)
def test_people_read_a_sentence(name: str, said: str) -> None:
    told = {each.name: each for each in chain.from_iterable(happenings([STREAM]))}
    assert sentence(told[name]) == said


def test_an_event_without_what_it_should_have_is_a_sentence_too() -> None:
    for name in (*_SENTENCES, "other"):
        assert isinstance(sentence(Happening(name=name)), str)
