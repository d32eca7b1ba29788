"""Starts the agent: ``python run.py --help``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from sources.command_line import parse
from sources.errors import StartError


def main(arguments: Sequence[str]) -> int:
    """Run the agent as ``arguments`` say; return an exit code if it cannot even start."""
    try:
        line = parse(arguments)
        # Imported as late as they are needed, so that help and mistakes are answered at once.
        from sources.load_settings import load_settings  # noqa: PLC0415

        settings = load_settings(line)
        from actors import app  # noqa: PLC0415

        app.run(settings)
    except StartError as error:
        print(f"actorlet: {error}", file=sys.stderr)  # noqa: T201 - the one sentence for the user
        return error.exit_code


if __name__ == "__main__":
    # Until the agent listens to signals, about a second: Ctrl-C ends the process without a traceback.
    # A request to look at the sources again can be dropped, since they will be looked at anyway, and
    # there is nothing to dump yet.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    sys.exit(main(sys.argv[1:]))
