"""The API server: the agent's credentials, single calls, and watch streams. Knows nothing of pods.

From the bottom: ``credentials`` (who the agent is), ``errors`` (what can go wrong with a request),
``clients`` (HTTP clients), and beside each other ``calls`` and ``streams``.
"""
