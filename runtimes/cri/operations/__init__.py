"""What one request takes: calls to the runtime and work on the disk, one after the other. Pure.

An operation is a generator. It yields what is to be done next and is sent what came of it, so nothing here
waits and nothing knows who carries it out: see ``flow``.
"""
