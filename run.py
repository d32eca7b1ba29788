"""Starts the agent: ``python run.py --help``.

Modules that take time to import are imported where they are needed. So help and mistakes are answered at
once, and a signal to end does not have to wait.

Memory that only the start needs is left to another process, which ends. And structlog imports rich wherever
that is installed, for tracebacks that this log never shows: 3 MB (measured).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from settings.agent import Settings


def main(arguments: Sequence[str]) -> int:
    """Run the agent as ``arguments`` say; return an exit code if it cannot even start."""
    from settings.apart import made_apart  # noqa: PLC0415
    from settings.errors import StartError  # noqa: PLC0415

    try:
        settings = made_apart(lambda: settings_of(arguments), import_agent_meanwhile)
        from agent import app  # noqa: PLC0415

        app.run(settings)
    except StartError as error:
        print(f"actorlet: {error}", file=sys.stderr)  # noqa: T201 - the one sentence for the user
        return error.exit_code


def import_agent_meanwhile() -> None:
    """Begin to import the agent while the settings are read: that saves 0.2 s of the start (measured)."""
    threading.Thread(target=import_module, args=("agent.app",), daemon=True).start()


def settings_of(arguments: Sequence[str]) -> Settings:
    """Return the settings that ``arguments`` give. Raises ``StartError``.

    Raises ``SystemExit`` when they only ask for something: help, verdicts on manifests, what would become of
    pods.
    """
    from settings.command_line import PROGRAM, parse  # noqa: PLC0415
    from settings.load import load_settings  # noqa: PLC0415

    line = parse(arguments, os.environ.get("ACTORLET_PROGRAM", PROGRAM))
    settings = load_settings(line)
    if line.validate is not None:
        from agent.validation import manifest_rules, validate  # noqa: PLC0415
        from messages.pods import FILE  # noqa: PLC0415

        raise SystemExit(validate(line.validate, manifest_rules(settings, FILE), line.output))
    if line.explain_takeover:
        from agent.takeover import explain_takeover  # noqa: PLC0415

        raise SystemExit(explain_takeover(settings, line.output))
    return settings


def end_at_once(_number: int, _frame: FrameType | None) -> None:
    """End the process: there is nothing to stop yet."""
    os._exit(0)


if __name__ == "__main__":
    # For about a second, until the agent listens to signals. Most processes would end without a handler for
    # the first two, but process 1 of a container does not get a signal that it has no handler for.
    signal.signal(signal.SIGTERM, end_at_once)
    signal.signal(signal.SIGINT, end_at_once)
    # A request to look at the sources again can be dropped: they will be looked at anyway. And there is
    # nothing to dump yet.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    # To Python, None says that there is no such module.
    sys.modules["rich"] = None  # type: ignore[assignment]
    # The allocator in pyreqwest would ask for huge pages, which are 2 MB each whatever is in them: 12 MB for
    # a few connections (measured).
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")
    # By an older Python, or one without the packages, any other import of ours would end in a riddle.
    from settings.interpreter import refuse, unfit

    if why := unfit(sys.version_info[:2], sys.executable):
        refuse(why)
    sys.exit(main(sys.argv[1:]))
