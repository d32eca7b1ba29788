"""The agent as its unit starts it on a machine of its own: nobody names a runtime, or where it listens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Final

from typing_extensions import override

from tests.support.agent.process import ROOT
from tests.support.containers.containerd import Containerd
from tests.support.containers.whole_agent import WholeAgent
from tests.support.parents import dies_with_us
from tools.installing.companions import TEMPLATES
from tools.installing.deb import WHERE
from tools.installing.templates import flags, unit

START: Final = "ExecStart="
ELSEWHERE: Final = 'mount --bind "$0" /run && exec "$@"'
"""What a shell runs a command by so that it sees another directory as /run."""


class ServiceAgent(WholeAgent):
    """The command line of ``packaging/actorlet.service``, in a mount namespace with a /run of its own.

    Only paths, ports and the name of the node are others than an installed service has.
    """

    def __init__(self, folder: Path, containerd: Containerd, run: Path | None = None) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder, containerd)
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
        text = unit((TEMPLATES / "actorlet.service").read_text(), WHERE, WHERE.home)
        line = next(each for each in text.splitlines() if each.startswith(START))
        given = flags((TEMPLATES / "actorlet.default").read_text(), WHERE).split("ACTORLET_FLAGS=")
        words = line.removeprefix(START).replace("$ACTORLET_FLAGS", given[-1].strip(' "\n')).split()
        ours = {
            "/usr/bin/actorlet": str(ROOT / ".venv/bin/actorlet"),
            "--root-dir=/var/lib/actorlet": f"--root-dir={self.root_dir}",
            "--config=/etc/actorlet/config.yaml": f"--config={self._file}",
            "--local-objects-dir=/etc/actorlet/objects": f"--local-objects-dir={self.run}/objects",
        }
        assert set(words) - {"run"} == set(ours), words
        return [*(ours.get(word, word) for word in words), "--hostname-override=node1"]
