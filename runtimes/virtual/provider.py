"""The name that ``actorlet`` had before. It stays for the release 0.1, and goes with the next one."""

import warnings

from actorlet import *  # noqa: F403  # all of it, and nothing else

warnings.warn("import from actorlet: runtimes.virtual.provider goes", FutureWarning, stacklevel=2)
