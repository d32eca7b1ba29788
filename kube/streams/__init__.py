"""Watch streams: thousands of watches over a few HTTP/2 connections, on one thread.

From the bottom:

- ``rules``: every number that the streams go by.
- ``next_round``: which round follows the last one, and when (pure).
- ``queries`` and ``parsing``: how to ask for lists and watches, and how to read the answers.
- ``failures``: which watches fail at present, and why.
- ``memory``: what outlives a crash of the actor.
- ``shared_credentials``: reads the credentials once for all watches.
- ``room``: whether there are descriptors for all connections.
- ``circuit_breaker``: whether requests may be sent over one connection.
- ``connections``: the pool of connections, with slots for streams.
- ``exchange``: one request and its answer.
- ``context``: what all watches share.
- ``target_requests``: the requests of one target.
- ``listing``: one whole list.
- ``one_off_list``: a list beside a watch.
- ``subscribers``: what the subscribers of one target are told.
- ``follower``: one watch, round after round.
- ``keeper``: all watches.
- ``loop``: the thread that they run on.
- ``actor``: the actor in front of it all.
"""
