"""The agent as ``make install`` puts it on a machine, in a folder of the tests.

It is installed once for all processes of a run of tests, by the first one that asks for it; the last one that
has asked removes it when it ends. Nothing comes from a registry: its packages are those of this environment.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

from settings.version import RELEASE
from tests.support.agent.process import ROOT
from tools.installing.install import Installation
from tools.installing.places import Places, places

FOLDER: Final = "installed"
USERS: Final = "users.lock"
INSTALLING: Final = "installing.lock"
LIMIT: Final = 1800
"""Seconds that such a test may take. To install takes 20 s of a core, and the longest of them 40 s more.

With a tenth of a core that is 625 s, also where the machine was idle when the tests began.
"""
_START: Final = "ExecStart="
_FLAGS: Final = "ACTORLET_FLAGS="
_MADE_THEN: Final = (".pyc", "/INSTALLER", "/REQUESTED", "/direct_url.json")
"""How the names of files end that were made when a package was installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An agent that was installed, with its unit."""

    where: Places

    def start(self) -> list[str]:
        """Return the words by which systemd starts it."""
        assert self.where.units is not None
        assert self.where.defaults is not None
        line = _line(self.where.units / "actorlet.service", _START)
        flags = _line(self.where.defaults / "actorlet", _FLAGS)
        return line.replace("$ACTORLET_FLAGS", flags.strip('"')).split()

    def code(self) -> str:
        """Return what tells its code from any other: it says so itself."""
        return (self.where.current / RELEASE).read_text().split()[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give more time to tests that use it: the first of them installs it."""
    for item in items:
        if "installed" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(LIMIT), append=False)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Return the agent that is installed for this run of tests."""
    own = tmp_path_factory.getbasetemp()
    # Each process of xdist has its folder in that of the run.
    with _shared(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) as installed:
        yield installed


@contextmanager
def _shared(run: Path) -> Iterator[Installed]:
    """Use the installation of a run of tests, whose folder this is."""
    folder = run / FOLDER
    variables = {
        "PREFIX": f"{folder}/actorlet",
        "UNITDIR": f"{folder}/units",
        "SYSCONFDIR": f"{folder}/etc",
    }
    where = places(variables)
    with (run / f"{FOLDER}.{USERS}").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with (run / f"{FOLDER}.{INSTALLING}").open("w") as installing:
            fcntl.flock(installing, fcntl.LOCK_EX)
            if not where.current.exists():
                _install(where, folder / "wheels")
        try:
            yield Installed(where=where)
        finally:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # another process uses it
            else:
                shutil.rmtree(folder)


def _install(where: Places, wheels: Path) -> None:
    wheels.mkdir(parents=True, exist_ok=True)
    needed = (ROOT / "requirements.txt").read_text().splitlines()
    for package in _with_needs([line for line in needed if line and line[0] != "#"]):
        _pack(package, wheels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", wheels.as_uri())
        Installation(where=where).install()
    shutil.rmtree(wheels)


def _with_needs(lines: list[str]) -> list[Distribution]:
    """Return the packages of this environment that these lines require, also at second hand."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(line) for line in lines]
    seen = set()
    while waiting:
        needed = waiting.pop()
        if str(needed) in seen:
            continue
        seen.add(str(needed))
        package = found[needed.name] = distribution(needed.name)
        more = [Requirement(line) for line in package.requires or ()]
        waiting += [each for each in more if _is_needed(each, needed.extras)]
    return list(found.values())


def _is_needed(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras))


def _pack(package: Distribution, folder: Path) -> None:
    """Write a package that is installed as the wheel that it came from."""
    said = (package.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in said if line.startswith("Tag: ")]
    tag = "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))
    name = package.name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{name}-{package.version}-{tag}.whl", "w") as wheel:
        for file in package.files or ():
            if ".." not in file.parts and not str(file).endswith(_MADE_THEN):
                wheel.write(file.locate(), str(file))


def _line(file: Path, start: str) -> str:
    """Return what a line of a file says behind its beginning."""
    (line,) = (line for line in file.read_text().splitlines() if line.startswith(start))
    return line.removeprefix(start)
