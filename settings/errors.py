"""What keeps the agent from starting: one sentence for people, and the exit code that says whose turn it is.

Every room above ``settings`` may raise these before and while the agent starts; ``run.py`` prints the
sentence and exits. They carry no traceback to users, so the sentence must name the thing at fault.
"""

from __future__ import annotations

from typing import ClassVar


class StartError(Exception):
    """The machine does not let the agent start: a port in use, a file that cannot be read.

    Trying again later, or elsewhere, may help. The text is one sentence without a full stop.
    """

    exit_code: ClassVar[int] = 1


class UsageError(StartError):
    """The command line or the configuration file is wrong: somebody has to mend it first."""

    exit_code: ClassVar[int] = 2
