"""Fills templates, in the quotes of whoever reads the result. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tools.installing.failures import InstallError
from tools.installing.places import Places

ENVIRONMENT: Final = "environment/bin/python"
"""The interpreter of a release, relative to it."""
_PLACE: Final = re.compile(r"@([A-Z_]+)@")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each @NAME@ replaced. Raises ``KeyError`` for a name without a value."""
    return _PLACE.sub(lambda found: values[found[1]], template)


def wrapper(template: str, home: Path, python: str = ENVIRONMENT) -> str:
    """Return the program that is on the PATH. ``home`` has the code, and ``python`` is relative to it."""
    return filled(template, {"HOME": shlex.quote(str(home)), "PYTHON": shlex.quote(python)})


def unit(template: str, where: Places, home: Path) -> str:
    """Return systemd's unit for an agent at ``where``, whose current release is ``home``."""
    if where.defaults is None:
        raise ValueError("there is no unit without a file of flags")
    return filled(
        template,
        {
            "PROGRAM": systemd_program(str(where.bin / "actorlet")),
            "FLAGS": systemd_path(str(where.defaults / "actorlet")),
            "PAGE": "file://" + quote(str(home / "README.md")).replace("%", "%%"),
        },
    )


def configuration(template: str, where: Places) -> str:
    """Return the example of a configuration for an agent at ``where``."""
    values = {
        "CONFIGURATION": str(where.configuration),
        "MANIFESTS": yaml_string(str(where.configuration / "manifests")),
    }
    return filled(template, values)


def flags(template: str, where: Places) -> str:
    """Return the file with the flags of the service."""
    config, objects = where.configuration / "config.yaml", where.configuration / "objects"
    words = (f"--config={config}", f"--local-objects-dir={objects}")
    if all(re.fullmatch(r"[\w./=-]+", word) for word in words):
        value = " ".join(words)
    else:  # systemd takes the value apart at spaces, and obeys quotes in it
        value = "'" + " ".join(f'"{word}"' for word in words) + "'"
    return filled(template, {"FLAGS": f'"{value}"' if value[0] != "'" else value})


def systemd_program(path: str) -> str:
    """Return ``path`` as the program of a unit. Raises ``InstallError`` if systemd would not take it."""
    if set(path) & set("'\"\\"):
        raise InstallError(f"systemd runs no program whose path has quotes or backslashes: {path}")
    word = systemd_path(path)
    return word if re.fullmatch(r"[\w./%-]+", word) else f'"{word}"'


def systemd_path(text: str) -> str:
    """Return ``text`` as a value that is a path: with specifiers, and to the end of the line."""
    return text.replace("%", "%%")


def yaml_string(text: str) -> str:
    """Return ``text`` as a scalar of YAML."""
    if re.fullmatch(r"[\w./-]+", text):
        return text
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
