"""Watch streams: thousands of watches over a few HTTP/2 connections, on one thread.

From the bottom: ``rules`` (every number), ``course`` (what comes after what: pure), ``lines`` and
``queries`` (the API's documents, and how to ask for them), ``troubles`` (what fails, for whom),
``memory`` (what outlives a crash), ``identity`` (who we are), ``gate`` and ``lanes`` (connections and
who may use them), ``exchange`` (one request), ``sending`` (the requests of one watch), ``listing`` (one
list), ``errand`` (a list beside a watch), ``nudge`` (how a watch is made to go on), ``audience`` (what
subscribers of one watch are told), ``follower`` (one watch), ``keeper`` (all of them), ``loop`` (the
thread they run on).
"""
