"""The rooms that there are, and the checks that go over them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from benchmarks.__main__ import PRODUCT

ROOT = Path(__file__).parents[3]
TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")}
ROOMS = PACKAGES - {"benchmarks", "tests", "tools"}


def test_every_room_is_on_one_floor() -> None:
    floors = TOOL["importlinter"]["contracts"][0]["layers"]
    assert sorted(room for floor in floors for room in floor.split(" | ")) == sorted(ROOMS)


def test_every_check_goes_over_every_room() -> None:
    assert set(TOOL["importlinter"]["root_packages"]) == ROOMS
    assert set(TOOL["mypy"]["files"]) == PACKAGES | {"benchmarks", "run.py", "tests", "tools"}
    assert set(TOOL["coverage"]["run"]["source"]) == ROOMS | {"run"}


def test_the_benchmarks_compile_every_room_before_they_measure_a_start() -> None:
    assert set(PRODUCT) == ROOMS


def test_every_folder_of_a_room_is_a_package() -> None:
    # The check of imports passes over a folder that is none.
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
