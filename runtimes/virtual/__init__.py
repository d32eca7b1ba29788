"""The place of ``provider``, which is one release older than ``actorlet``."""
