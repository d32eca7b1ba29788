"""A containerd of the tests' own: everything of it is in one temporary folder.

It has images, and no registry: nothing leaves the machine. Pods on the host's network run at once; others
after ``add_network``. It ends with the process that started it, even by SIGKILL; what its containers leave
then, the next one removes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

import grpc

from tests.support.agent.process import eventually
from tests.support.cluster.processes import Program
from tests.support.containers import leftovers, needs, network
from tests.support.containers.cgroups import remove_cgroup
from tests.support.containers.cri_client import CriClient
from tests.support.containers.images import IMAGES, PAUSE, archive

AT_ONCE: Final = 4
"""Sandboxes that are removed at the same time."""
UNUSED: Final = (
    "io.containerd.internal.v1.opt",
    "io.containerd.internal.v1.tracing",
    "io.containerd.snapshotter.v1.aufs",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
    "io.containerd.tracing.processor.v1.otlp",
)
"""Plugins that do nothing here, or make folders elsewhere."""


NO_REGISTRY: Final = 'server = "http://127.0.0.1:1"\n[host."http://127.0.0.1:1"]\n'
"""Where registries are that nobody named: nowhere. A server without a host is not minded."""


class Containerd:
    """Runs from when it is made until ``end``."""

    def __init__(self, launcher: Sequence[str] = ()) -> None:
        """``launcher`` starts it, if that is given: in a namespace, for instance."""
        leftovers.sweep()
        self.folder, self._lock = leftovers.own_folder()
        self.socket = self.folder / "containerd.sock"
        self.registries = self.folder / "registries"
        """A folder for each registry, with a ``hosts.toml``, says where it really is."""
        self.cgroup = leftovers.cgroup_of(self.folder)
        """Below it, tests may have what cgroups they like."""
        self._number: network.NetworkNumber | None = None
        self._write_files()
        command = [*launcher, "containerd", "-c", str(self.folder / "config.toml")]
        self._program = Program(command, self.folder / "containerd.log")
        try:
            self.start()
            self._import_images()
        except BaseException:
            self.end()
            raise

    # --- the daemon ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the daemon, and return once it takes pods."""
        self._program.start(self.is_ready)

    def launch(self) -> None:
        """Start the daemon, and return at once: it is not ready then."""
        self._program.start(lambda: True)

    def kill(self) -> None:
        """End the daemon by SIGKILL. What runs in containers goes on."""
        self._program.kill()

    def send(self, number: signal.Signals) -> None:
        """Send the daemon a signal."""
        self._program.send(number)

    def ends(self) -> None:
        """Return once the daemon has ended, after a signal."""
        self._program.ends()

    def restart(self) -> None:
        """Kill the daemon, and start it again."""
        self.kill()
        self.start()

    def suspend(self) -> None:
        """Stop the daemon by SIGSTOP: it takes connections, and answers nothing."""
        self.send(signal.SIGSTOP)
        eventually(self._is_suspended)

    def resume(self) -> None:
        """Have a daemon that was suspended go on."""
        self.send(signal.SIGCONT)

    def is_ready(self) -> bool:
        """Return whether the daemon takes pods now."""
        with self.client() as client:
            return client.is_ready()

    # --- what is there ---------------------------------------------------------------------------------

    def client(self) -> CriClient:
        """Return a connection of its own."""
        return CriClient(self.socket)

    def ctr(self, *words: str) -> str:
        """Return what ``ctr`` prints, which knows nothing of the CRI."""
        command = ["ctr", "-a", str(self.socket), "-n", leftovers.NAMESPACE, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def tasks(self) -> dict[str, int]:
        """Return the first process of each sandbox and container that has one now."""
        lines = (line.split() for line in self.ctr("tasks", "ls").splitlines()[1:])
        return {name: int(pid) for name, pid, state in lines if state != "STOPPED"}

    def ids(self) -> set[str]:
        """Return the ids of sandboxes and containers that were not removed."""
        return set(self.ctr("containers", "ls", "-q").split())

    def images(self) -> set[str]:
        """Return the names of images."""
        names = self.ctr("images", "ls", "-q").split()
        return {name for name in names if not name.startswith("sha256:")}

    def processes(self) -> set[int]:
        """Return the daemon, every shim, and everything that runs in containers."""
        return leftovers.processes_of(self.folder)

    # --- what is done behind the runtime's back --------------------------------------------------------

    def kill_task(self, task: str) -> None:
        """Kill the first process of a container; of a sandbox, its pause."""
        os.kill(self.tasks()[task], signal.SIGKILL)

    @staticmethod
    def kill_process(pid: int) -> None:
        """Kill a process of which the test remembers where it was."""
        os.kill(pid, signal.SIGKILL)

    def kill_shim(self, sandbox: str) -> None:
        """Kill the shim of a sandbox, which is that of its containers, too."""
        pid = leftovers.shim_of(self.folder, sandbox)
        assert pid is not None, f"no shim of {sandbox}"
        os.kill(pid, signal.SIGKILL)
        leftovers.shim_socket(self.folder, sandbox).unlink(missing_ok=True)

    def remove_container(self, container: str) -> None:
        """Remove a container by hand: its process, and what containerd knows of it."""
        if container in self.tasks():
            self.kill_task(container)
        eventually(lambda: self._is_removed(container))

    def remove_images(self, *images: str) -> None:
        """Remove all names of these images, and what only they consist of."""
        lines = [line.split() for line in self.ctr("images", "ls").splitlines()[1:]]
        digests = {words[0]: words[2] for words in lines}
        removed = {digests[image] for image in images}
        names = [name for name in digests if digests[name] in removed]
        self.ctr("images", "rm", "--sync", *names)

    def add_images(self, file: Path) -> None:
        """Import images from an archive."""
        self.ctr("images", "import", "--snapshotter", self.snapshotter, str(file))

    def restore_images(self) -> None:
        """Have the images again that it began with."""
        self.add_images(self.folder / "images.tar")

    def add_registry(self, name: str, port: int) -> None:
        """Have images whose names begin with ``name`` be pulled from a port of this machine."""
        folder = self.registries / name
        folder.mkdir(exist_ok=True)
        host = f"http://127.0.0.1:{port}"
        folder.joinpath("hosts.toml").write_text(f'server = "{host}"\n[host."{host}"]\n')

    # --- networks --------------------------------------------------------------------------------------

    def add_network(self) -> str:
        """Have a bridge for pods with a network of their own, and return which addresses they get."""
        if self._number is None:
            self._number = network.free_number()
        network.write_config(self.folder, self._number.number)
        self._await_network(is_there=True)
        return network.subnet(self._number.number)

    def remove_network(self) -> None:
        """Have only pods on the host's network again."""
        network.remove_config(self.folder)
        self._await_network(is_there=False)

    # --- the end ---------------------------------------------------------------------------------------

    def wipe(self) -> None:
        """Have it run, without sandboxes, containers and a network, with the images of the beginning."""
        self.resume()
        if not self._gets_ready():
            self.restart()
        try:
            self._remove_sandboxes()
            self.remove_network()
            assert not self.ids()
        except (AssertionError, grpc.RpcError):
            self._begin_anew()
        self._have_the_first_images()
        for folder in self.registries.iterdir():
            if folder.name != "_default":
                shutil.rmtree(folder)
        remove_cgroup(self.cgroup)

    def end(self) -> None:
        """End the daemon and everything that it started, and remove all of it."""
        self._program.kill()
        if self._number is not None:
            self._number.close()
        leftovers.remove_world(self.folder)
        os.close(self._lock)

    def _gets_ready(self) -> bool:
        """Return whether the daemon that runs takes pods, which takes a while after it was suspended."""
        if self._program.is_running:
            with suppress(AssertionError):
                return eventually(self.is_ready)
        return False

    def _is_removed(self, container: str) -> bool:
        """Remove a container, unless its task is just being deleted, and return whether it is gone."""
        try:
            self.ctr("containers", "rm", container)
        except AssertionError:
            return container not in self.ids()
        return True

    def _is_suspended(self) -> bool:
        """Return whether every thread of the daemon has stopped: each does so when it gets to it."""
        threads = Path(f"/proc/{self._program.pid}/task").glob("*/stat")
        return all(path.read_text().rpartition(")")[2].split()[0] == "T" for path in threads)

    def _remove_sandboxes(self) -> None:
        with self.client() as client, ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(client.remove_sandbox, [each.id for each in client.sandboxes()]))

    def _have_the_first_images(self) -> None:
        first = {image.name for image in IMAGES}
        if others := self.images() - first:
            self.remove_images(*others)
        if first - self.images():
            self.restore_images()

    def _begin_anew(self) -> None:
        """Forget everything, of which something could not be removed in good order."""
        self._program.kill()
        leftovers.empty_world(self.folder)
        for name in ("root", "state"):
            subprocess.run(["rm", "-rf", self.folder / name], check=True)
        network.remove_config(self.folder)
        self.start()

    def _await_network(self, *, is_there: bool) -> None:
        with self.client() as client:
            eventually(lambda: client.has_network() == is_there)

    def _import_images(self) -> None:
        busybox = needs.busybox()
        assert busybox is not None, needs.missing()
        self.folder.joinpath("images.tar").write_bytes(archive(busybox))
        self.restore_images()

    def _write_files(self) -> None:
        self.folder.joinpath("cni").mkdir()
        nowhere = self.registries / "_default"
        nowhere.mkdir(parents=True)
        nowhere.joinpath("hosts.toml").write_text(NO_REGISTRY)
        self.snapshotter = needs.snapshotter(self.folder)
        self.folder.joinpath("config.toml").write_text(self._config())

    def _config(self) -> str:
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        lines = (
            "version = 2",
            f'root = "{self.folder / "root"}"',
            f'state = "{self.folder / "state"}"',
            f"disabled_plugins = {list(UNUSED)}",
            "[grpc]",
            f'  address = "{self.socket}"',
            f"[{cri}]",
            # Without CAP_SYS_RESOURCE nobody can lower a score: every pod would fail.
            "  restrict_oom_score_adj = true",
            f'  sandbox_image = "{PAUSE}"',
            f"  [{cri}.cni]",
            f'    bin_dir = "{needs.PLUGINS}"',
            f'    conf_dir = "{self.folder / "cni"}"',
            f"  [{cri}.containerd]",
            f'    snapshotter = "{self.snapshotter}"',
            f"  [{cri}.registry]",
            f'    config_path = "{self.registries}"',
        )
        return "\n".join((*lines, ""))
