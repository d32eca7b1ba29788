"""The agent as its unit starts it on a machine of its own: nobody names a runtime, or where it listens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

from typing_extensions import override

from tests.support.agent.installed import Installed
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent
from tests.support.parents import dies_with_us

ELSEWHERE: Final = 'mount --bind "$0" /run && exec "$@"'
"""What a shell runs a command by so that it sees another directory as /run."""


class ServiceAgent(WholeAgent):
    """An agent that is installed, started as its unit says, in a mount namespace with a /run of its own.

    Only its state, its configuration, ports and the name of the node are others than the service has.
    """

    def __init__(
        self,
        folder: Path,
        installed: Installed,
        containerd: Containerd,
        run: Path | None = None,
    ) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder, containerd)
        self.installed = installed
        self.run = run or folder / "run"
        for name in ("containerd", "objects"):
            (self.run / name).mkdir(parents=True, exist_ok=True)

    @override
    def begins(self, *flags: str) -> None:
        self.configuration = {
            **self.configuration,
            "staticPodPath": str(self.manifests),
            "readOnlyPort": self.port,
            "healthzPort": self.health_port,
        }
        self._file.write_text(json.dumps(self.configuration))
        namespace = ["unshare", "-m", "sh", "-c", ELSEWHERE, str(self.run)]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*dies_with_us(), *namespace, *self._command_line(), *flags],
                stderr=log,
                stdout=subprocess.DEVNULL,
            )

    def finds_containerd(self) -> None:
        """Have the socket of containerd where an agent looks for it."""
        (self.run / "containerd/containerd.sock").symlink_to(self.socket)

    def loses_containerd(self) -> None:
        """Have no such socket any more."""
        (self.run / "containerd/containerd.sock").unlink(missing_ok=True)

    def _command_line(self) -> list[str]:
        where = self.installed.where
        ours = {
            f"--root-dir={where.state}": f"--root-dir={self.root_dir}",
            f"--config={where.configuration}/config.yaml": f"--config={self._file}",
            f"--local-objects-dir={where.configuration}/objects": f"--local-objects-dir={self.run}/objects",
        }
        program, *words = self.installed.start()
        assert set(words) - {"run"} == set(ours), words
        return [program, *(ours.get(word, word) for word in words), "--hostname-override=node1"]
