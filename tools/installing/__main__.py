"""``python -m tools.installing WHAT``: what ``make`` runs.

WHAT is ``install``, ``uninstall``, ``deb FOLDER``, ``environment FOLDER`` or ``wrapper CHECKOUT``.
"""

from __future__ import annotations

import sys

from settings.interpreter import refuse, too_old

CHOOSING = "`make ... PYTHON=python3.11` chooses another"
OF_PACKAGES = "the package is for this one"

if __name__ == "__main__":
    # Other modules of ours are not even grammar to an older Python.
    if said := too_old(sys.version_info[:2], sys.executable):
        refuse(f"{said}: {OF_PACKAGES if 'deb' in sys.argv[1:2] else CHOOSING}")
    from tools.installing.doing import main

    sys.exit(main(sys.argv[1:]))
