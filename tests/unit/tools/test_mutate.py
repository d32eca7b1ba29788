"""The microscope for one pure module: what it looks at, by which tests, and what it refuses."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.mutate import SURVIVED, importing_tests, main, refused, table

ROOMS = "[tool.importlinter]\nroot_packages = ['rooms']\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with two modules and the tests of one of them."""
    texts = {
        "pyproject.toml": ROOMS,
        "rooms/pure.py": "",
        "rooms/acts.py": "import os\none = os.getpid()\n",
        "tests/unit/test_pure.py": "from rooms.pure import one\n",
        "tests/properties/test_room.py": "from rooms import other, pure\n",
        "tests/unit/test_acts.py": "from rooms.pure_not import one\nfrom rooms import acts\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("rooms/pure.py", ""),
        ("rooms/none.py", "rooms/none.py: there is no such file"),
        ("rooms/acts.py", "rooms/acts.py does more than decide: one: os.getpid"),
    ],
)
def test_a_file_that_is_not_there_or_not_pure_is_refused(
    checkout: Path, file: str, why: str
) -> None:
    assert refused(file, checkout).startswith(why)
    assert bool(refused(file, checkout)) is bool(why)


def test_a_module_is_tried_by_the_tests_that_import_it(checkout: Path) -> None:
    assert importing_tests("rooms/pure.py", checkout) == [
        "tests/properties/test_room.py",
        "tests/unit/test_pure.py",
    ]


def test_only_the_one_file_is_changed_and_all_else_is_there(checkout: Path) -> None:
    tool = tomllib.loads(table("rooms/pure.py", ["tests/unit/test_pure.py"], checkout))["tool"]
    assert tool["mutmut"]["only_mutate"] == ["rooms/pure.py"]
    assert tool["mutmut"]["source_paths"] == ["rooms"]
    assert tool["mutmut"]["also_copy"] == ["pyproject.toml", "tests"]


def test_what_survived_is_found_among_the_results() -> None:
    results = "    rooms.pure.x_one__mutmut_1: survived\n    rooms.pure.x_one__mutmut_2: timeout\n"
    assert SURVIVED.findall(results) == ["rooms.pure.x_one__mutmut_1"]


def test_a_refusal_is_one_line_and_a_failure() -> None:
    ended = CliRunner().invoke(main, ["server/none.py"])
    assert (ended.exit_code, ended.output) == (1, "Error: server/none.py: there is no such file\n")
