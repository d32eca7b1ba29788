"""A copy of the product into which a test puts imports, and what the check of imports says of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.project import checkout
from tests.support.project.checkout import CONTRACTS, ROOT


class Import(NamedTuple):
    """A line of a module: a new one in ``importer`` if that is a package, else ``importer`` itself."""

    importer: str
    imported: str


class Copy:
    """The product's modules and contracts in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for path in checkout.product():
            folder.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)
        shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")

    def write(self, module: str, imported: str) -> None:
        """Add an import to a module, which is made if there is none."""
        with self._folder.joinpath(f"{module.replace('.', '/')}.py").open("a") as text:
            text.write(f"import {imported}\n")

    def add(self, line: Import) -> str:
        """Add ``line``, and return how the check names it."""
        is_package = self._folder.joinpath(line.importer.replace(".", "/")).is_dir()
        module = f"{line.importer}.stray" if is_package else line.importer
        self.write(module, line.imported)
        return f"{module} -> {line.imported} "

    def check(self) -> dict[str, str]:
        """Return what is said of each broken contract."""
        ended = subprocess.run(
            [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
            cwd=self._folder,
            env={**os.environ, "COLUMNS": "400", "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        summary = re.search(r"^Contracts: (\d+) kept, (\d+) broken", ended.stdout, re.MULTILINE)
        assert summary is not None, ended.stdout + ended.stderr
        kept, broken = int(summary[1]), int(summary[2])
        assert kept + broken == len(CONTRACTS)
        assert ended.returncode == (1 if broken else 0)
        _, _, told = ended.stdout.partition("Broken contracts\n")
        words = re.split(r"^(.+)\n-+$", told, flags=re.MULTILINE)[1:]
        parts = dict(zip(words[::2], words[1::2], strict=True))
        assert len(parts) == broken
        return parts


def forbidden_by(contract: dict[str, Any]) -> list[Import]:
    """Return imports that break a contract of the type layers or forbidden, in each way that it knows."""
    if contract["type"] == "forbidden":
        pairs = product(contract["source_modules"], contract["forbidden_modules"])
        return [Import(*pair) for pair in pairs]
    containers = contract.get("containers", [""])
    return [line for each in containers for line in _up_and_aside(each, contract["layers"])]


def _up_and_aside(container: str, layers: list[str]) -> Iterator[Import]:
    floors = [[f"{container}.{name}".strip(".") for name in row.split(" | ")] for row in layers]
    for upper, lower in pairwise(floors):
        yield from (Import(each, upper[0]) for each in lower)
    for floor in floors:
        ring = pairwise([*floor, floor[0]])
        yield from (Import(one, next_one) for one, next_one in ring if one != next_one)
