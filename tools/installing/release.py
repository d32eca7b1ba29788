"""Makes one release of the agent: its code, and an environment of its own with what it needs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tools.installing.failures import InstallError
from tools.installing.interpreters import check_python

ROOT: Final = Path(__file__).parents[2]
"""The checkout."""
ALONE: Final = ("run.py", "actorlet.py", "pyproject.toml", "LICENSE", "README.md")
"""Files beside the rooms. The version stands in pyproject.toml."""
NEEDS: Final = ("requirements.txt", "constraints.txt")
"""What the environment is made by."""
RELEASE: Final = "RELEASE"
"""The file in which a release says what it is: ``settings.version`` reads it. This runs without any package,
so it imports no room."""
LEFT_OUT: Final = ("kubernetes/aio",)
"""The second half of the Kubernetes client, for programs of another kind: a fifth of the environment."""


def project() -> dict[str, Any]:
    """Return what pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def version() -> str:
    """Return the version of the checkout."""
    return str(project()["project"]["version"])


def rooms() -> list[str]:
    """Return the folders at the top that the agent is made of: those whose imports are checked."""
    return sorted(project()["tool"]["importlinter"]["root_packages"])


def source_files(room: Path) -> Iterator[Path]:
    """Yield the files of a room, without what editors and interpreters leave there."""
    for folder, folders, names in os.walk(room):
        folders[:] = sorted(each for each in folders if each != "__pycache__" and each[0] != ".")
        for name in sorted(names):
            if name[0] != "." and not name.endswith((".pyc", ".orig", ".rej", "~")):
                yield Path(folder, name)


def make_release(target: Path, final: Path) -> None:
    """Make a release in ``target``, which is empty; later it is at ``final``. Raises ``InstallError``."""
    _copy_code(target)
    _make_environment(target / "environment")
    _compile(target, final)


def _copy_code(target: Path) -> None:
    files = [ROOT / each for each in ALONE]
    for room in rooms():
        files += source_files(ROOT / room)
    for file in files:
        copy = target / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copy.chmod(0o644)
    name = target / RELEASE
    name.write_text(f"{version()} {code_of([*files, *(ROOT / each for each in NEEDS)])}\n")
    name.chmod(0o644)


def code_of(files: Iterable[Path]) -> str:
    """Return what tells the code in these files of the checkout from any other, also of the same version."""
    digest = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(ROOT)} {len(content)}\0".encode() + content)
    return digest.hexdigest()[:12]


def _make_environment(environment: Path) -> None:
    check_python()
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    _run("a Python environment cannot be made", base, "-m", "venv", "--without-pip", environment)
    # pip is not part of it: it is only needed once, and would be a fifth way to change the environment.
    with tempfile.TemporaryDirectory(prefix="actorlet-pip.") as folder:
        _run("a Python environment cannot be made", base, "-m", "venv", folder)
        _run(
            "what the agent needs could not be installed, for the reason above",
            *(Path(folder, "bin/python"), "-m", "pip", "--python", environment / "bin/python"),
            *("install", "-qq", "--disable-pip-version-check", "--no-compile"),
            *("--no-warn-script-location", "-c", ROOT / "constraints.txt"),
            *("-r", ROOT / "requirements.txt"),
        )
    _strip(environment, base)


def _strip(environment: Path, base: Path) -> None:
    """Leave the interpreter and the packages: nothing that names the folder in which it was made."""
    for each in ("bin", "include", "share"):
        shutil.rmtree(environment / each, ignore_errors=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(base)
    said = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    (environment / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\nversion = {said}\n"
    )
    packages = packages_of(environment)
    for each in LEFT_OUT:
        shutil.rmtree(packages / each)
    for name in ("RECORD", "REQUESTED", "direct_url.json"):
        for file in packages.glob(f"*.dist-info/{name}"):
            file.unlink()
    for file in packages.rglob("*"):
        if not file.is_symlink():  # some archives have programs among their modules
            file.chmod(0o755 if file.is_dir() else 0o644)


def packages_of(environment: Path) -> Path:
    """Return the folder of the packages."""
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return environment / "lib" / minor / "site-packages"


def _compile(target: Path, final: Path) -> None:
    """Compile all code, so that nothing is written where it is used: its owner may be somebody else.

    The files never change afterwards, so no import has to compare times. One process and one seed give the
    same bytes each time.
    """
    subprocess.run(  # noqa: S603  # nothing of it comes from outside
        [
            *(target / "environment/bin/python", "-m", "compileall", "-q"),
            *("--invalidation-mode", "unchecked-hash", "-s", target, "-p", final, target),
        ],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.DEVNULL,
        check=False,  # packages have templates among their modules that are no Python
    )


def _run(failure: str, *command: str | Path) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)  # noqa: S603
    if done.returncode:
        raise InstallError(failure)
