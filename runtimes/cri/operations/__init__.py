"""How each request is carried out: calls to the runtime and work on the disk, one after the other. Pure.

An operation is a generator. It yields descriptions of calls and of work, and is sent their results: see
``flow``. So nothing here waits.
"""
