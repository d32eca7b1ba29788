"""Which tests know no clock of the machine, and which of their files may.

What decides, what is told on ``Steps`` and what a seed makes up is the same on any machine, however busy.
Its limit is a number of steps. Threads, sockets and the clock of the machine belong to the other folders of
``tests``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, TypeGuard

FOLDERS: Final = ("unit", "scenarios", "properties", "simulation", "environment")
"""Folders of ``tests`` whose files know no clock of the machine."""
KERNEL: Final = ("unit/kernel/", "scenarios/kernel/")
"""What runs actors is proven on real threads, too."""
MACHINE: Final = frozenset(
    {
        *(
            f"time.{each}{ns}"
            for each in ("monotonic", "perf_counter", "time")
            for ns in ("", "_ns")
        ),
        *("time.sleep", "asyncio.sleep", "kernel.SystemClock", "kernel.Threads"),
        *(f"datetime.datetime.{each}" for each in ("now", "today", "utcnow")),
        *(
            f"socket.{each}"
            for each in ("create_connection", "create_server", "socket", "socketpair")
        ),
        *(f"threading.{each}" for each in ("Barrier", "Condition", "Event", "Thread", "Timer")),
    }
)
"""A clock, a thread or a socket of the machine."""
WAITERS: Final = frozenset(
    {
        *("AgentProcess", "Http2Server", "PATIENCE", "ProbeStage", "eventually", "free_ports"),
        *("live_agent", "live_runtime", "live_stage"),
    }
)
"""What of ``tests.support`` has one, or waits for one."""

SOCKETS: Final = "what it tests is a socket"
MAY: Final = {
    "unit/agent/test_control_socket.py": SOCKETS,
    "unit/agent/test_listeners.py": SOCKETS,
    "unit/agent/test_log_writer.py": "a reader that does not read holds nobody up",
    "unit/agent/test_logs.py": "lines have the time of the machine, and failures of threads are logged",
    "unit/agent/test_runtimes.py": "a call of a class that waits",
    "unit/agent/test_signals.py": "a signal wakes another thread",
    "unit/agent/test_systemd.py": SOCKETS,
    "unit/files/test_moved_directories.py": "somebody swaps directories all the while",
    "unit/command/top/test_app.py": "the library of the screen has a loop of its own",
    "unit/command/top/test_threads.py": "what it tests are threads",
    "unit/kube/test_credentials_client.py": "what it tests is a process that ends",
    "unit/kube/test_credentials_commands.py": "what it tests is a process that is killed",
    "unit/kube/test_credentials_hanging.py": "what it tests are threads that hang",
    "unit/actors/probes/test_engine.py": SOCKETS,
    "unit/actors/probes/test_loop.py": SOCKETS,
    "unit/project/test_benchmarks.py": "what it tests are processes and sockets of the benchmarks",
    "unit/runtimes/cri/test_runtime_socket.py": SOCKETS,
    "unit/server/test_control_peers.py": SOCKETS,
    "unit/settings/test_manifest_places.py": "a socket is no file",
    "unit/support/test_canary.py": "what a whole process prints is looked at, too",
    "unit/support/test_ports.py": SOCKETS,
    "unit/actors/volumes/test_host_paths.py": "a socket is a type of hostPath",
    "unit/actors/volumes/test_readers_of_volumes.py": "readers of files that change all the while",
    "unit/actors/volumes/test_unmounting.py": "a thread that hangs in a mount",
    "unit/project/test_flaky.py": "an entry lasts for days of the calendar",
    "scenarios/images/test_pulling_images.py": "a pull blocks a thread",
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
    return is_asked and uses_the_machine(ast.parse(text))


def uses_the_machine(tree: ast.Module) -> bool:
    """Return whether a module uses a clock, a thread or a socket of the machine, under whatever name.

    A sleep of zero is a turn of the loop.
    """
    names = _imported(tree)
    turns = {id(each.func) for each in ast.walk(tree) if _is_turn(each)}
    for each in ast.walk(tree):
        if isinstance(each, ast.keyword) and each.arg == "live" and _is_true(each.value):
            return True
        if isinstance(each, ast.Name | ast.Attribute) and id(each) not in turns:
            dotted = _dotted(each, names)
            if dotted in MACHINE or _is_waiter(dotted):
                return True
    return False


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return what the names of a module stand for that it has imported anywhere."""
    found: dict[str, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            found |= {one.asname or one.name: one.name for one in each.names}
        elif isinstance(each, ast.ImportFrom) and each.module:
            found |= {one.asname or one.name: f"{each.module}.{one.name}" for one in each.names}
    return found


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """Return the full name of what an expression names; empty if it names nothing that was imported."""
    match node:
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Attribute(value=value, attr=attribute):
            before = _dotted(value, names)
            return f"{before}.{attribute}" if before else ""
        case _:
            return ""


def _is_waiter(dotted: str) -> bool:
    return dotted.startswith("tests.support.") and dotted.rpartition(".")[2] in WAITERS


def _is_turn(node: ast.AST) -> TypeGuard[ast.Call]:
    match node:
        case ast.Call(args=[ast.Constant(value=0)]):
            return True
        case _:
            return False


def _is_true(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def is_without(path: str) -> bool:
    """Return whether the tests of this file are the same on any machine."""
    in_folder = path.startswith(tuple(f"{each}/" for each in FOLDERS))
    return in_folder and not path.startswith(KERNEL) and path not in MAY
