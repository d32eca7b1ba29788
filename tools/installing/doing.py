"""Does what ``make`` asks for. PREFIX, DESTDIR and the other variables are those of the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.installing import templates
from tools.installing.companions import TEMPLATES
from tools.installing.deb import build
from tools.installing.failures import InstallError
from tools.installing.install import Installation
from tools.installing.interpreters import make_environment, use_shared_python
from tools.installing.places import destination, places
from tools.installing.systemd import tell_systemd


def main(arguments: list[str]) -> int:
    """Do what ``arguments`` say; return the exit code."""
    os.umask(0o022)  # everybody may use what root installs
    try:
        _do(arguments)
    except InstallError as error:
        sys.stderr.write(f"actorlet: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"actorlet: {error.filename}: {error.strerror}\n")
        return 1
    return 0


def _do(arguments: list[str]) -> None:
    match arguments:
        case ["install"]:
            _install()
        case ["uninstall"]:
            _uninstall()
        case ["deb", folder]:
            _say(f"built {build(Path(folder))}")
        case ["environment", folder]:
            make_environment(Path(folder))
        case ["wrapper", checkout]:
            template = (TEMPLATES / "actorlet.sh").read_text()
            sys.stdout.write(templates.wrapper(template, Path(checkout), ".venv/bin/python"))
        case _:
            raise InstallError("what is to do? WHAT is one of those that the module names")


def _installation() -> Installation:
    return Installation(where=places(os.environ), root=destination(os.environ))


def _install() -> None:
    installation = _installation()
    where = installation.where
    if where.units is not None:
        use_shared_python()
    installation.install()
    _say(*installation.said, f"installed {where.bin / 'actorlet'}, with its code in {where.home}")
    if str(where.bin) not in os.environ.get("PATH", "").split(":"):
        _say(f"{where.bin} is not in your PATH")
    if where.units is None:
        _say(f"there is no unit, since systemd looks for none below {where.home}")
    elif installation.root == Path("/"):
        tell_systemd("daemon-reload")
        _say(
            f"configure it in {where.configuration}, then: systemctl enable --now actorlet "
            "(an agent that runs goes on as it is until systemctl restart actorlet)"
        )


def _uninstall() -> None:
    installation = _installation()
    if installation.root == Path("/") and installation.where.units is not None:
        tell_systemd("disable", "actorlet.service")
    installation.uninstall()
    tell_systemd("daemon-reload")
    _say(*installation.said, f"uninstalled what was at {installation.where.home}")


def _say(*sentences: str) -> None:
    for each in sentences:
        sys.stdout.write(f"{each}\n")
