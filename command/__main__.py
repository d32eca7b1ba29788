"""``python -m command``, or ``python command``: the same as the installed ``actorlet``."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Started by its path, in any folder: then Python does not look into the folder of the rooms yet.
    root = str(Path(__file__).resolve().parents[1])
    if root not in sys.path:
        sys.path.insert(0, root)
    from settings.interpreter import refuse, unfit

    if why := unfit(sys.version_info[:2], sys.executable):
        refuse(why)
    from command.main import main

    sys.exit(main(sys.argv[1:]))
