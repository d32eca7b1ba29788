"""Secrets and ConfigMaps that pods reference: their managers and their holders.

PodManager tells ``ObjectManager``, one for each kind, which pods there are; it starts a holder at the
first reference to an object, and stops it after the last. A holder (``ObjectWatcher``, ``ObjectFetcher``,
or ``LocalObjects`` for all files) follows its object and sets its value in the level of its kind, which
keepers of volumes and workers of pods follow. Holders tell their manager what changed, and it tells what
each pod wants done about that. What they remember is in ``stores/objects``.
"""
