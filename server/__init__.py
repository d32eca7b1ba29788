"""The agent's HTTP endpoints: its state as JSON, metrics and health, over aiohttp.

``documents``, ``metrics``, ``object_pages`` and ``health`` are pure: they turn answers of actors into what is
shown. ``backend`` asks the actors, ``endpoints`` has the handlers, ``actor`` is the one that serves.
"""
