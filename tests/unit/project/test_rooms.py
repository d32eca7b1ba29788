"""The rooms that there are, and the checks that go over them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.__main__ import PRODUCT
from tests.support.project.checkout import (
    CONTRACTS,
    NO_ROOMS,
    ROOT,
    TOOL,
    code,
    modules,
    rooms,
)


def not_packages(root: Path) -> set[Path]:
    """Return the folders of the product's code that the check of imports passes over."""
    found = rooms(root)
    modules = [path for path in code(root) if path.parts[0] in found]
    folders = {folder for path in modules for folder in path.parents if folder.parts}
    return {folder for folder in folders if not root.joinpath(folder, "__init__.py").exists()}


ROOMS = rooms()
OF_DOMAINS = {"actors", "runtimes"}
"""Rooms whose folders are domains. Any other room is one."""
MOST_LINES = 12_000
SHARED = {
    "actors.logs.answers",
    "actors.logs.records",
    "actors.logs.layout",
    "actors.probes.connections",
    "actors.probes.http_messages",
    "actors.probes.names",
    "actors.probes.specs",
    "actors.probes.watching",
    "actors.volumes.making.foreign_search",
    "actors.volumes.mounts.mount_table",
    "actors.volumes.mounts.places",
    "actors.volumes.mounts.removal",
    "actors.volumes.mounts.sub_paths",
    "actors.volumes.mounts.system_calls",
}
"""What runtimes import of actors. Everything else between them is a message. The list only gets shorter."""


def test_every_room_is_on_one_floor() -> None:
    floors = CONTRACTS[0]["layers"]
    assert sorted(room for floor in floors for room in floor.split(" | ")) == sorted(ROOMS)


def test_every_check_goes_over_every_room() -> None:
    assert set(TOOL["importlinter"]["root_packages"]) == ROOMS
    assert set(TOOL["mypy"]["files"]) == ROOMS | NO_ROOMS | {"actorlet.py", "run.py"}
    assert set(TOOL["coverage"]["run"]["source"]) == ROOMS | {"actorlet", "run"}


def test_circles_are_looked_for_in_every_room() -> None:
    ancestors = [each["ancestors"] for each in CONTRACTS if each["type"] == "acyclic_siblings"]
    assert [set(each) for each in ancestors] == [ROOMS]


@pytest.mark.parametrize(
    ("library", "knowing"),
    [
        ("pykka", {"kernel"}),
        ("kubernetes", set()),
        ("cryptography", set()),
        ("grpc", set()),
        ("textual", set()),
    ],
)
def test_a_library_for_one_place_is_kept_from_every_other_room(
    library: str, knowing: set[str]
) -> None:
    kept_from = [each for each in CONTRACTS if library in each.get("forbidden_modules", ())]
    assert {room for each in kept_from for room in each["source_modules"]} == ROOMS - knowing


def test_runtimes_and_actors_share_no_more_than_this() -> None:
    found = {
        each.module
        for path, module in modules().items()
        for each in ast.walk(module)
        if path.startswith("runtimes/") and isinstance(each, ast.ImportFrom) and each.module
    }
    assert {each for each in found if each.startswith("actors")} == SHARED


def lines_of(domain: str) -> int:
    """Return how long the modules of a domain are that somebody wrote."""
    written = [
        path
        for path in code(ROOT)
        if path.is_relative_to(domain) and not path.name.endswith("_pb2.py")
    ]
    return sum(len((ROOT / path).read_text().splitlines()) for path in written)


def test_no_domain_is_larger_than_a_person_can_read() -> None:
    inner = [path.parent for room in OF_DOMAINS for path in (ROOT / room).glob("*/__init__.py")]
    domains = {*ROOMS - OF_DOMAINS, *(each.relative_to(ROOT).as_posix() for each in inner)}
    sizes = {each: lines_of(each) for each in domains}
    assert len(sizes) > 20
    assert {each: size for each, size in sizes.items() if size > MOST_LINES} == {}


def test_the_benchmarks_compile_every_room_before_they_measure_a_start() -> None:
    assert set(PRODUCT) == ROOMS


def test_all_code_is_in_a_room_but_the_first_lines_and_the_public_names() -> None:
    assert {str(path) for path in code(ROOT) if len(path.parts) == 1} == {"actorlet.py", "run.py"}


def test_every_folder_of_a_room_is_a_package() -> None:
    assert not_packages(ROOT) == set()


def test_a_new_folder_is_found_package_or_not(tmp_path: Path) -> None:
    for path in ("kernel/__init__.py", "runtimes/cri/client.py", ".venv/lib/other.py"):
        tmp_path.joinpath(path).parent.mkdir(parents=True)
        tmp_path.joinpath(path).touch()
    assert rooms(tmp_path) == {"kernel", "runtimes"}
    assert not_packages(tmp_path) == {Path("runtimes"), Path("runtimes/cri")}
