"""The check of imports stops what its contracts forbid, in each way that they know."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project.checkout import CONTRACTS
from tests.support.project.imports import Copy, forbidden_by

BY_NAME = {each["name"]: each for each in CONTRACTS}


def of_type(*types: str) -> list[str]:
    return [name for name, contract in BY_NAME.items() if contract["type"] in types]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_nothing_is_said_of_the_product_as_it_is(copy: Copy) -> None:
    assert copy.check() == {}


def test_every_type_of_contract_is_tried_here() -> None:
    assert set(of_type("layers", "forbidden", "acyclic_siblings")) == set(BY_NAME)


def test_every_import_that_a_contract_forbids_is_named(copy: Copy) -> None:
    names = of_type("layers", "forbidden")
    expected = {name: [copy.add(each) for each in forbidden_by(BY_NAME[name])] for name in names}
    assert all(expected.values())
    told = copy.check()
    assert [
        (name, line)
        for name, lines in expected.items()
        for line in lines
        if line not in told.get(name, "")
    ] == []


def test_a_new_module_of_a_package_whose_modules_are_listed_is_named(copy: Copy) -> None:
    # The rooms are the ones that test_rooms.py looks at.
    listed = {
        name: contract["containers"]
        for name, contract in BY_NAME.items()
        if contract["type"] == "layers" and "containers" in contract
    }
    for packages in listed.values():
        for package in packages:
            copy.write(f"{package}.stray", "json")
    told = copy.check()
    assert set(told) == set(listed)
    for name, packages in listed.items():
        assert [each for each in packages if f"- {each}.stray\n" not in told[name]] == []


@pytest.mark.parametrize("name", of_type("acyclic_siblings"))
def test_modules_of_a_package_that_import_each_other_are_named(copy: Copy, name: str) -> None:
    packages = BY_NAME[name]["ancestors"]
    for package in packages:
        copy.write(f"{package}.stray", f"{package}.other_stray")
        copy.write(f"{package}.other_stray", f"{package}.stray")
    told = copy.check()[name]
    for package in packages:
        _, _, of_package = told.partition(f"No cycles are allowed in {package}.\n")
        assert "stray" in of_package.partition("No cycles")[0]


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("actors.pod_worker", "agent.app"),
        ("actors.pod_worker", "kubernetes"),
        ("actors.pod_worker", "pykka"),
        ("agent.pods", "grpc"),
        ("kernel.pods", "kubernetes"),
        ("server.pods", "actors.pod_manager"),
        ("sources.pods", "kube"),
    ],
)
def test_a_stray_is_stopped(copy: Copy, module: str, imported: str) -> None:
    copy.write(module, imported)
    assert f"{module} -> {imported} " in " ".join(copy.check().values())
