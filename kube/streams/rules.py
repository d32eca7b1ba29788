"""Every number that watch streams go by, its reason, and whether descriptors allow it.

Tests make them small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from messages.units import Seconds

SPARE = 3
"""Connections beside the full ones: some are closing, or not full, while watches come and go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionRoom:
    """How many connections there is room for."""

    connections: int = sys.maxsize
    descriptors_for: Callable[[int], int] = lambda connections: connections
    """Returns how many descriptors a process has to have that is to have so many connections."""


def connections_for(watches: int, streams_per_connection: int) -> int:
    """Return how many connections so many watches take at most."""
    return -(-watches // streams_per_connection) + SPARE


def descriptors_lacked(connections: int, room: ConnectionRoom) -> int | None:
    """Return how many descriptors so many connections would take; None if there is room for them.

    It is a power of two: limits are given so, and it changes seldom while watches are added one by one.
    """
    if connections <= room.connections:
        return None
    return 1 << (room.descriptors_for(connections) - 1).bit_length()


MEBIBYTE: Final = 1024 * 1024

MOST_UNFINISHED_BYTES: Final = 256 * MEBIBYTE
FEWEST_UNFINISHED_BYTES: Final = 16 * MEBIBYTE
"""On the smallest machine: a full page of pods of 32 KiB, or ten of the largest objects that etcd holds."""
SHARE_OF_MEMORY: Final = 8
"""One in so many bytes of the machine's memory may be of unfinished answers: 64 MiB of 512."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """How targets are watched. Only ``user_agent`` has no default."""

    user_agent: str

    # Requests.

    page_size: int = 500
    """Objects in one page of a list, as in client-go's reflector. A server builds a page as a whole before
    it sends it; 500 pods are some megabytes."""
    shortest_watch: Seconds = Seconds(300.0)
    longest_watch: Seconds = Seconds(600.0)
    """The server is asked to end a watch after a random time between these two. Watches then spread over
    the API servers again after one of them was away (kubelet and client-go: 5 to 10 min)."""
    overtime: Seconds = Seconds(30.0)
    """A watch that the server has not ended so long after its time is ended on this side. Something on the
    way may answer pings for a server that is gone."""
    silent_after: Seconds = Seconds(120.0)
    """A stream without a word for this long, or up to half as long again, is ended, and a list follows.
    Bookmarks come about every minute, so such a stream may start from a version that does not exist yet
    (etcd was restored from a backup) and stay silent for ever. A server that sends no bookmarks makes every
    quiet watch list this often: for 5,000 objects by name that is 33 lists and 33 watches a second."""
    answer_within: Seconds = Seconds(65.0)
    """The time limit for the head of an answer, and for the whole of a page. The API server gives up after
    60 s."""
    most_bytes: int = 64 * MEBIBYTE
    """The largest event, and the largest page. etcd holds objects of 1.5 MiB. Anything larger than this
    limit is not meant for us and must not use up the machine's memory."""
    most_list_bytes: int = 256 * MEBIBYTE
    """The largest list, all pages together. The 110 pods that a node has by default are some 2 MiB as
    usual, and 165 MiB if each is as large as etcd allows. 25,000 pods of 10 KiB fit."""
    most_unfinished_bytes: int = MOST_UNFINISHED_BYTES
    """What all watches together keep of events and pages whose end has not come: one list of the largest
    kind, or four of the largest events. Without it 95 streams that never end a line would take 6 GiB.
    ``unfinished_within`` has less for a small machine."""
    most_pages: int = 200
    """The most pages of one list: 100,000 objects in full pages. Pages are requested one after the other
    without a pause, so this also bounds the requests to a server whose list never ends."""
    most_error_bytes: int = 65_536
    """How much of a refusal's body is read. One sentence of it is needed."""

    # How many at the same time.

    streams_per_connection: int = 95
    """Streams on one connection. API servers allow 100 (since 1.29 and the patches of October 2023; 250
    before), which is also the least that HTTP/2 recommends. The 101st request waits without an error, so
    some room is left."""
    fewest_streams: int = 16
    full_after: Seconds = Seconds(5.0)
    """A server or proxy may allow fewer streams. A connection with at least ``fewest_streams`` streams that
    has answered nobody for ``full_after`` counts as full: a request that has waited that long moves to
    another connection. This one takes no new streams until it answers."""
    most_pending_requests: int = 100
    """Requests that may wait for their answer at the same time, over all connections. 5,000 watches that
    return after a cut then send 2,000 requests a second at the peak instead of 12,000 (measured)."""
    most_one_off_lists: int = 50
    """Lists beside watches that may run at the same time. 1,000 of them take 0.2 s (measured), and half of
    the pending requests remain for the watches."""
    most_requests: int = 10
    request_window: Seconds = Seconds(5.0)
    """One watch sends at most ``most_requests`` in any ``request_window``, whatever the server answers: two
    a second. Bursts of ten are allowed for a pod that has just been bound to the node: after a 403 its
    first attempts follow each other in tenths of a second."""

    # When to try again.

    first_backoff: Seconds = Seconds(0.5)
    longest_backoff: Seconds = Seconds(30.0)
    """A refused watch waits between these two: the wait doubles with each failure, give or take a fifth."""
    first_forbidden_backoff: Seconds = Seconds(0.05)
    """The first backoff after a 403 of a new watch. The Node authorizer learns of a new pod a little later
    than the node, so the 403 may be over in a moment. There are six attempts in the first 2 s; the bound on
    requests still holds."""
    first_revoked_backoff: Seconds = Seconds(2.0)
    """The first backoff after a 403 of a watch that has had a stream. Its permission was taken away, or the
    API server has just started and not read its rules yet. A thousand watches that hurry then take 40 % of
    a core."""
    failures_per_list: int = 3
    """Every third 5xx in a row, as an answer or inside a stream, makes a watch start again with a list: the
    server may be unable to continue from the watch's version. The backoff still bounds the requests. 5,000
    watches by name that keep failing send 167 requests a second, a third of them lists of one key (0.4 ms
    each), and 56 more watches a second if the lists succeed. The pods of a node are listed once in 90 s,
    the first time after 1.5 s."""
    healthy_after: Seconds = Seconds(10.0)
    """A stream that was open this long resets the count of failures."""
    first_probe: Seconds = Seconds(0.2)
    """At most this long after a connection broke, one request probes it. By then all its streams have
    noticed."""
    shortest_probe: Seconds = Seconds(1.0)
    longest_probe: Seconds = Seconds(2.0)
    """The time from one probe of a connection to the next is between these two. When each watch backed off
    by itself instead, 494 of 500 were without a stream for 42 s (measured)."""
    spread: Seconds = Seconds(3.0)
    """The streams of a full connection return over this time once its probe is answered; fewer streams take
    less."""

    # When a target is uncertain.

    confirmed_after: Seconds = Seconds(0.2)
    """A stream that was open this long is confirmed. If its version is too old, or if events were missed,
    the server says so right behind the head of the answer."""
    uncertain_after: Seconds = Seconds(1.0)
    """Subscribers are told that a target is uncertain this long after its stream ended. The server ends
    streams every few minutes and they are open again in milliseconds; a cut connection is mostly back in
    half a second. Telling all of that would be two messages to each of thousands of actors."""
    uncertain_after_list: Seconds = Seconds(10.0)
    """The same after a list. When 5,000 watches begin, a stream opens up to 6 s after its list, behind the
    lists of all others (12 s until all are synced, measured). Subscribers must not begin with an uncertain
    target."""

    # Credentials and connections.

    access_age: Seconds = Seconds(10.0)
    """Credentials that were read longer ago are read again before the next request."""
    close_idle_after: Seconds = Seconds(1.0)
    """A connection without requests is closed after this. Lists that follow each other use the same one."""
    drain_within: Seconds = Seconds(0.5)
    """A connection that is to be closed waits this long for requests that are still being opened."""
    close_within: Seconds = Seconds(0.9)
    """The time limit for closing all streams and connections. What hangs then ends with the process."""


def unfinished_within(memory: int) -> int:
    """Return how many bytes of unfinished answers watches may keep on a machine with ``memory`` bytes."""
    return min(MOST_UNFINISHED_BYTES, max(FEWEST_UNFINISHED_BYTES, memory // SHARE_OF_MEMORY))
