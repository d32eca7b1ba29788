"""``actorlet streams``: the processes that carry streams of agents that have ended."""

from __future__ import annotations

from pathlib import Path

from command.subcommands.streams import orphans


def process(proc: Path, pid: int, parent: int, program: str, words: bytes) -> None:
    """Have a process in ``proc`` as the kernel shows it."""
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "cmdline").write_bytes(words.replace(b" ", b"\0") + b"\0")
    (folder / "status").write_text(f"Name:\tx\nPPid:\t{parent}\n")
    (folder / "exe").symlink_to(program)


def test_those_count_whose_agent_has_ended(tmp_path: Path) -> None:
    door = b"/usr/bin/python3 -P -m server.door.program [7,[8]]"
    process(tmp_path, 1, 0, "/sbin/init", b"init")
    process(tmp_path, 10, 1, "/usr/bin/python3", b"python3 run.py")
    process(tmp_path, 11, 10, "/usr/bin/python3", door)
    process(tmp_path, 20, 1, "/usr/bin/python3", door)
    process(tmp_path, 21, 1, "/usr/bin/python3", door)
    process(tmp_path, 30, 1, "/usr/bin/vi", b"vi server.door.program.txt")
    (tmp_path / "40").mkdir()
    assert orphans(11, tmp_path) == 2
    assert orphans(20, tmp_path) == 1
    assert orphans(None, tmp_path) == 2
