"""Which tests know no clock of the machine, and which of their files may.

What decides, what is told on ``Steps`` and what a seed makes up is the same on any machine, however busy.
Its limit is a number of steps. Threads, sockets and the clock of the machine belong to the other folders of
``tests``.
"""

from __future__ import annotations

import re
from typing import Final

FOLDERS: Final = ("unit", "scenarios", "properties", "simulation", "environment")
"""Folders of ``tests`` whose files know no clock of the machine."""
KERNEL: Final = ("unit/kernel/", "scenarios/kernel/")
"""What runs actors is proven on real threads, too."""
CLOCKS: Final = re.compile(
    r"\btime\.(?:monotonic|time)\b|\bperf_counter\b|\bsleep\((?!0\))|\bSystemClock\("
    r"|(?<!\w)Threads\(|\blive=True|\bsocket\.(?:socket|socketpair|create_\w+)\("
    r"|\b(?:eventually|free_ports|live_agent|live_runtime|live_stage|AgentProcess|Http2Server)\("
    r"|\bPATIENCE\b|import ProbeStage\b"
)
"""How a test comes by a clock, a thread or a socket of the machine, or by what waits for one."""

SOCKETS: Final = "what it tests is a socket"
MAY: Final = {
    "unit/agent/test_control_socket.py": SOCKETS,
    "unit/agent/test_listeners.py": SOCKETS,
    "unit/agent/test_log_writer.py": "a reader that does not read holds nobody up",
    "unit/agent/test_systemd.py": SOCKETS,
    "unit/command/top/test_app.py": "the library of the screen has a loop of its own",
    "unit/command/top/test_threads.py": "what it tests are threads",
    "unit/kube/test_credentials_client.py": "what it tests is a process that ends",
    "unit/kube/test_credentials_commands.py": "what it tests is a process that is killed",
    "unit/kube/test_credentials_hanging.py": "what it tests are threads that hang",
    "unit/actors/probes/test_engine.py": SOCKETS,
    "unit/actors/probes/test_loop.py": SOCKETS,
    "unit/project/test_clocks.py": "has such lines as examples",
    "unit/project/test_benchmarks.py": "what it tests are processes and sockets of the benchmarks",
    "unit/runtimes/cri/test_runtime_socket.py": SOCKETS,
    "unit/server/test_control_peers.py": SOCKETS,
    "unit/settings/test_manifest_places.py": "a socket is no file",
    "unit/support/test_canary.py": "what a whole process prints is looked at, too",
    "unit/support/test_ports.py": SOCKETS,
    "unit/actors/volumes/test_host_paths.py": "a socket is a type of hostPath",
    "unit/actors/volumes/test_safe_opening.py": "somebody swaps directories all the while",
    "unit/actors/volumes/test_sub_paths.py": "somebody swaps directories all the while",
    "scenarios/agent/test_process_signals.py": "signals, and the socket of systemd",
    "scenarios/kube/test_watches_subscribers.py": "a server and its connections",
    "scenarios/objects/test_local_objects_restarts.py": "inotify of the machine",
    "scenarios/sources/test_file_source_directory.py": "a socket is no manifest",
    "scenarios/sources/test_file_source_watching.py": "inotify of the machine",
    "scenarios/sources/test_http_source_polling.py": "a fetch that gets stuck",
    "scenarios/provider/test_documented_runtimes.py": "asyncio of whoever writes a runtime",
    "scenarios/provider/test_example_virtual_node.py": "asyncio of whoever writes a runtime",
    "scenarios/provider/test_provider_threads.py": "asyncio of whoever writes a runtime",
    "simulation/__main__.py": "make simulate takes seconds, and says how many it took",
    "properties/test_probe_thresholds_model.py": "the engine of probes has sockets",
}
"""Files there that need the machine, by path below ``tests``, and for what. The list only gets shorter."""


def needs_the_machine(path: str, text: str) -> bool:
    """Return whether a file below ``tests``, with this path there and this text, uses what it should not."""
    is_asked = path.startswith(tuple(f"{each}/" for each in FOLDERS)) and not path.startswith(
        KERNEL
    )
    return is_asked and CLOCKS.search(text) is not None


def is_without(path: str) -> bool:
    """Return whether the tests of this file are the same on any machine."""
    in_folder = path.startswith(tuple(f"{each}/" for each in FOLDERS))
    return in_folder and not path.startswith(KERNEL) and path not in MAY
