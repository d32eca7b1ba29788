"""What keeps the agent from starting: a sentence for people, and an exit code that says who has to act.

Every room above ``settings`` may raise these before and while the agent starts. ``run.py`` prints the
sentence and exits. Users see no traceback, so the sentence must name what is at fault.
"""

from __future__ import annotations

from typing import ClassVar


class StartError(Exception):
    """The machine does not let the agent start: a port in use, a file that cannot be read.

    It may help to try again later or elsewhere. The text is one sentence without a full stop.
    """

    exit_code: ClassVar[int] = 1


class UsageError(StartError):
    """The command line or the configuration file is wrong and has to be mended first."""

    exit_code: ClassVar[int] = 2

    def __init__(self, sentence: str, *, at: str = "") -> None:
        super().__init__(sentence)
        self.at = at
        """The field by its path, or the flag with its dashes, that has to be mended. The agent starts without
        it, or says what else is wrong. Empty if there is no such one."""
