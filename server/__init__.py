"""The agent's endpoints: what it does, as JSON, metrics and health, over aiohttp.

``documents``, ``metrics`` and ``health`` are pure: from what actors answered to what is shown.
``endpoints`` asks the actors, ``server`` is the actor that listens.
"""
