"""The modules of the interface's messages are those that their sources give."""

from __future__ import annotations

from pathlib import Path

from tools.generate_cri import ROOT, SOURCES, WIRE, generate


def test_the_generated_modules_are_current(tmp_path: Path) -> None:
    generate(tmp_path)
    for source in SOURCES:
        for end in ("_pb2.py", "_pb2.pyi"):
            name = WIRE / source.replace(".proto", end)
            assert (tmp_path / name).read_text() == (ROOT / name).read_text(), name
