"""The actors that decide what the agent does: a folder for each domain, which holds all of it.

A domain knows the others by messages alone. ``api_calls`` is below them: how any of them calls the API
server.
"""
