"""Every number that watch streams go by, with its reason. Tests make them small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from messages.units import Seconds

MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """How watches are kept. Only ``user_agent`` has no default."""

    user_agent: str

    # What is asked for.

    page_size: int = 500
    """Objects in one answer to a list, as client-go's reflector has it: a server builds an answer as
    a whole before it sends it, and 500 pods are some megabytes."""
    shortest_watch: Seconds = Seconds(300.0)
    longest_watch: Seconds = Seconds(600.0)
    """Between these the server is asked to end a watch, so that watches spread over the API servers
    again after one of them was away (kubelet and client-go: 5 to 10 min)."""
    overtime: Seconds = Seconds(30.0)
    """A watch that the server has not ended so long after it should have is ended here: something on
    the way answers pings for a server that is gone."""
    silent_after: Seconds = Seconds(120.0)
    """Bookmarks come about every minute. A stream that has said nothing for two, or up to half as long
    again, is perhaps from a version that does not exist yet (etcd restored from a backup), and would stay
    silent: it is ended, and a list comes next. A server that sends no bookmarks lists every quiet watch
    anew so often: 5,000 objects by name are 33 lists and 33 watches a second, spread out by the half."""
    answer_within: Seconds = Seconds(65.0)
    """For the head of an answer, and for the whole of a page: the API server itself gives up after 60 s."""
    most_bytes: int = 64 * MEBIBYTE
    """Of one event, and of one page. etcd holds objects of 1.5 MiB; whatever is longer than this is
    not meant for us, and must not take the machine's memory."""
    most_list_bytes: int = 256 * MEBIBYTE
    """Of all pages of a list together, or of one that comes at once. The 110 pods that a node has
    unless it is told otherwise are 165 MiB if each is as long as etcd allows, and some 2 MiB as they
    usually are: 25,000 pods of 10 KiB fit."""
    most_pages: int = 200
    """Of one list: 100,000 objects of full pages. They are asked for one after the other without a
    pause, so that this is also the bound on requests to a server that never ends its list."""
    most_error_bytes: int = 65_536
    """Of a refusal's body, of which one sentence is wanted."""

    # How many at a time.

    streams_per_client: int = 95
    """API servers allow 100 on a connection (since 1.29 and its patches of October 2023; 250 before),
    which is also the least that HTTP/2 recommends, and the 101st waits in silence; some room is left."""
    fewest_streams: int = 16
    full_after: Seconds = Seconds(5.0)
    """What stands on the way may allow fewer. A request that waits for so long on a connection that has at
    least ``fewest_streams`` and has answered nobody since goes to another one, and nobody follows there
    until it is answered after all."""
    most_pending_requests: int = 100
    """Requests that wait for their answer at a time, over all clients: 5,000 watches that return
    after a cut are then 2,000 requests a second at the peak instead of 12,000 (measured)."""
    most_one_off_lists: int = 50
    """Lists beside watches at a time: 1,000 take 0.2 s so (measured), and half of the openings are left."""
    most_requests: int = 10
    request_window: Seconds = Seconds(5.0)
    """No watch sends more than ``most_requests`` in any ``request_window``, whatever comes back: two a
    second. So many at once are allowed because a pod that has just been bound to the node is waited
    for: the first attempts after a 403 follow each other in tenths of a second."""

    # When to try again.

    first_backoff: Seconds = Seconds(0.5)
    longest_backoff: Seconds = Seconds(30.0)
    """For one watch that is refused: doubling between these, give or take a fifth."""
    first_forbidden_backoff: Seconds = Seconds(0.05)
    """The same for a 403, which may be over in a moment: the Node authorizer learns of a new pod a
    little after the node does. Six attempts in the first 2 s; the bound on requests holds all the same."""
    first_revoked_backoff: Seconds = Seconds(2.0)
    """The same for a watch that had been followed before: somebody has taken the right away, or the API
    server has just started and not read its rules. A thousand watches that hurry then are 40 % of a core."""
    failures_per_list: int = 3
    """Each third 5xx in a row, as an answer or inside of a stream, has a watch begin anew with a list:
    the server may be unable to go on from that version, whenever it is asked. What one watch sends is
    still bounded by its backoff: 5,000 watches by name that fail for good send 167 requests a second as
    before, a third of them lists of one key (0.4 ms each), and 56 watches more if the lists succeed. The
    pods of a node are listed once in 90 s, and the first time after 1.5 s."""
    healthy_after: Seconds = Seconds(10.0)
    """A stream that was open for so long is no part of a series of failures."""
    first_probe: Seconds = Seconds(0.2)
    """Up to this long after a client lost its connection, one request tries it again; by then all its
    streams have noticed."""
    shortest_probe: Seconds = Seconds(1.0)
    longest_probe: Seconds = Seconds(2.0)
    """Between these from one probe of a client to its next. Backoff of each watch by itself instead
    left 494 of 500 without a stream for 42 s (measured)."""
    spread: Seconds = Seconds(3.0)
    """Over this the streams of a full client return once its probe was answered; fewer in less."""

    # How far what was told can be relied on.

    confirmed_after: Seconds = Seconds(0.2)
    """A stream that was open for so long stands: that its version is too old, and what was missed, comes
    at once behind the head of the answer."""
    uncertain_after: Seconds = Seconds(1.0)
    """Subscribers hear so long after a stream was left that nothing is vouched for since. The stream that
    the server ends every few minutes is open again in milliseconds, and one whose connection was cut
    mostly in half a second: to tell all of that would be two messages to each of thousands of actors."""
    uncertain_after_list: Seconds = Seconds(10.0)
    """The same after a list. When 5,000 watches begin, the stream of each is opened up to 6 s after its
    list, behind the lists of all others (12 s until all are synced, measured); they must not begin with
    a doubt."""

    # The rest.

    access_age: Seconds = Seconds(10.0)
    """Credentials that were read longer ago are asked for again before the next request."""
    close_idle_after: Seconds = Seconds(1.0)
    """A client without requests is closed after this: lists that follow each other take the same one."""
    drain_within: Seconds = Seconds(0.5)
    """A client that nobody needs waits so long for requests that are still being opened."""
    close_within: Seconds = Seconds(0.9)
    """For ending all streams and connections; what hangs then ends with the process."""
