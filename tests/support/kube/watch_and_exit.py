"""A process that opens watches, closes them in order, and exits: ``python -m ... URL CA TARGETS``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from typing_extensions import override

from kube.credentials.access import Access, Credentials
from messages.units import Seconds
from tests.support.kube.watch_stage import secret_target, watch_stage
from tests.support.patience import PATIENCE


class Given(Credentials):
    """Credentials of the command line."""

    @override
    def access(self) -> Access:
        return Access(server=sys.argv[1], user="n1-user", ca=Path(sys.argv[2]).read_bytes())

    @override
    def reload(self, refused: Access) -> Access:
        return self.access()


def main() -> None:
    """Open, close, and exit with the code of the tree."""
    count = int(sys.argv[3])
    with watch_stage(Given()) as watches:
        watches.watch(*(secret_target(f"s{number}") for number in range(count)))
        watches.wait_until_open(count)
        system = watches.stage.system
        system.stop()
        code = system.wait(Seconds(PATIENCE))
    sys.stdout.flush()
    sys.stderr.flush()
    # Past the interpreter's own end, where pyreqwest's threads sometimes abort the process.
    os._exit(99 if code is None else code)


if __name__ == "__main__":
    main()
