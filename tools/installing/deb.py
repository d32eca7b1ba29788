"""``make deb``: a package for Debian and what is made of it.

The code is in /usr/lib/actorlet, not in /opt: a package's own files belong below /usr, and only an
administrator's below /opt and /usr/local. So both can be there, and the latter is found first.

The environment has compiled modules, and compiled code for one minor version of Python. So the package is for
one architecture, and depends on that version.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.installing.companions import TEMPLATES, Companion, companions
from tools.installing.failures import InstallError
from tools.installing.interpreters import SYSTEM
from tools.installing.places import Places, below
from tools.installing.release import ROOT, make_release, project, version

WHERE: Final = Places(
    home=Path("/usr/lib/actorlet"),
    bin=Path("/usr/bin"),
    share=Path("/usr/share"),
    configuration=Path("/etc/actorlet"),
    defaults=Path("/etc/default"),
    units=Path("/usr/lib/systemd/system"),
)
ZSH: Final = ("zsh/site-functions", "zsh/vendor-completions")
"""Where packages of Debian have what is in the first directory of others."""
SCRIPTS: Final = ("postinst", "prerm", "postrm")
AUTHORS: Final = "the authors of actorlet"


def build(folder: Path) -> Path:
    """Build the package in ``folder``, and return its path. Raises ``InstallError``."""
    if not shutil.which("dpkg-deb"):
        raise InstallError(
            "dpkg-deb is missing: packages are built on Debian, or on what is made of it"
        )
    architecture = _said_by("dpkg", "--print-architecture").strip()
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / f"actorlet_{version()}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="actorlet-deb.") as made:
        root = Path(made, "root")
        release = below(root, WHERE.home)
        release.mkdir(parents=True)
        make_release(release, WHERE.home)
        _write(root, _files(release))
        for path, mode in WHERE.folders.items():
            below(root, path).mkdir()
            below(root, path).chmod(mode)
        _write_control(root, architecture, _needed(release))
        _date(root, _epoch())
        beside = package.with_suffix(".new")
        _pack(root, beside)
        beside.replace(package)
    return package


def _files(release: Path) -> Iterator[Companion]:
    for each in companions(WHERE, release, WHERE.home):
        path = Path(str(each.path).replace(*ZSH))
        if path.is_relative_to(WHERE.share / "man"):
            content = gzip.compress(each.content, mtime=0)
            yield Companion(path=path.with_name(f"{path.name}.gz"), content=content)
        else:
            yield Companion(path=path, content=each.content, mode=each.mode)
    documents = WHERE.share / "doc/actorlet"
    changes = gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0)
    yield Companion(path=documents / "changelog.gz", content=changes)
    copyright_ = (TEMPLATES / "debian/copyright").read_bytes()
    yield Companion(path=documents / "copyright", content=copyright_)
    overrides = (TEMPLATES / "debian/lintian-overrides").read_bytes()
    yield Companion(path=WHERE.share / "lintian/overrides/actorlet", content=overrides)


def _write(root: Path, files: Iterable[Companion]) -> None:
    for each in files:
        there = below(root, each.path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(each.content)
        there.chmod(each.mode)


def _write_control(root: Path, architecture: str, needed: Sequence[str]) -> None:
    control = root / "DEBIAN"
    control.mkdir()
    size = sum(_blocks(path) for path in root.rglob("*"))
    control.joinpath("control").write_text(control_file(architecture, _minor(), needed, size))
    etc = root / "etc"
    configuration = sorted(path for path in etc.rglob("*") if path.is_file())
    control.joinpath("conffiles").write_text(
        "".join(f"/{path.relative_to(root)}\n" for path in configuration)
    )
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(root)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and not path.is_relative_to(control)
        and path not in configuration
    ]
    control.joinpath("md5sums").write_text("".join(sums))
    for name in SCRIPTS:
        shutil.copyfile(TEMPLATES / "debian" / name, control / name)
        (control / name).chmod(0o755)


def control_file(architecture: str, minor: str, needed: Sequence[str], size: int) -> str:
    """Return what the package says of itself.

    ``minor`` is the Python that it was made for, ``needed`` are packages of libraries, ``size`` is in KiB.
    """
    major, _, number = minor.partition(".")
    following = f"{major}.{int(number) + 1}"
    depends = [f"python3 (>= {minor}~)", f"python3 (<< {following}~)", *needed]
    return f"""\
Package: actorlet
Version: {version()}
Section: admin
Priority: optional
Architecture: {architecture}
Maintainer: {_maintainer(os.environ)}
Installed-Size: {size}
Depends: {", ".join(depends)}
Suggests: containerd, containernetworking-plugins, bash-completion
Description: {str(project()["project"]["description"])[2:]}
 It takes pods from a directory, a URL and the API server, and carries them
 through their lives: in containers of containerd or CRI-O, by a Python class,
 or so that they only seem to run. The command actorlet runs it, and shows what
 it does and why a pod does not run.
"""


def _maintainer(variables: Mapping[str, str]) -> str:
    """Return who answers for the package: by the variables of Debian's tools, or else the commit's author."""
    address = variables.get("DEBEMAIL") or variables.get("EMAIL")
    committed = _said_by("git", "-C", str(ROOT), "log", "-1", "--format=%an <%ae>", may_fail=True)
    if not address and committed.strip():
        return committed.strip()
    name = variables.get("DEBFULLNAME") or variables.get("NAME") or AUTHORS
    return f"{name} <{address or 'root@localhost'}>"


def _needed(release: Path) -> list[str]:
    """Return the packages that have the libraries that the environment uses and does not have itself."""
    libraries = set()
    for path in (release / "environment").rglob("*.so*"):
        listed = _said_by("ldd", str(path), may_fail=True)
        libraries.update(re.findall(r"=> (/\S+) \(", listed))
    owned = {_owner(each) for each in libraries if not each.startswith(str(release))}
    return sorted(owned - {""})


def _owner(library: str) -> str:
    # dpkg knows a file by the name that its package gave it, with or without /usr.
    for name in (
        os.path.realpath(library),
        library,
        os.path.realpath(library).removeprefix("/usr"),
    ):
        found = _said_by("dpkg", "-S", name, may_fail=True)
        if found:
            return found.partition(":")[0]
    return ""


def _blocks(path: Path) -> int:
    """Return KiB, as packages count them: whole ones, and one for whatever is no file."""
    is_file = path.is_file() and not path.is_symlink()
    return -(-path.stat().st_size // 1024) if is_file else 1


def _minor() -> str:
    return _said_by(str(SYSTEM), "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()


def _epoch() -> int:
    """Return the time that everything in the package has, so that it is the same bytes each time."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    if said.isdigit():
        return int(said)
    committed = _said_by("git", "-C", str(ROOT), "log", "-1", "--format=%ct", may_fail=True).strip()
    return int(committed) if committed.isdigit() else int((ROOT / "CHANGELOG.md").stat().st_mtime)


def _date(root: Path, epoch: int) -> None:
    for path in (root, *root.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def _pack(root: Path, package: Path) -> None:
    # The lowest level takes a tenth of the time of the usual one, for a third more bytes.
    level = ("--root-owner-group", "-Zxz", "-z0")
    command = ["dpkg-deb", *level, "--build", str(root), str(package)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(_epoch())}
    done = subprocess.run(  # noqa: S603  # nothing of it comes from outside
        command, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise InstallError("dpkg-deb could not build the package, for the reason above")


def _said_by(*command: str, may_fail: bool = False) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=not may_fail)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        if may_fail:
            return ""
        raise InstallError(f"{command[0]} does not work here: {error}") from None
    return done.stdout if not done.returncode else ""
