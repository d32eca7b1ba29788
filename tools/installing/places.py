"""Where each thing is put, by the variables that somebody gave to ``make``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.installing.failures import InstallError

DEFAULT_PREFIX: Final = "/opt/actorlet"
SYSTEM_BASES: Final = (Path("/usr"), Path("/usr/local"))
"""Below their lib/systemd/system, systemd looks for units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Directories as they are for whoever uses the agent, without DESTDIR."""

    home: Path
    """What belongs to the agent alone: its code and its environment."""
    bin: Path
    share: Path
    """Below it are the man page and what shells complete by."""
    configuration: Path
    defaults: Path | None
    """The directory of the file with the service's flags; None where there is no unit."""
    units: Path | None
    """Where the unit goes; None where systemd would not look for it."""
    state: Path = Path("/var/lib/actorlet")
    """The agent's --root-dir under systemd."""

    @property
    def current(self) -> Path:
        """The link to the release that is used."""
        return self.home / "current"

    @property
    def folders(self) -> dict[Path, int]:
        """Folders for what people write, and their modes: Secrets are not for everybody."""
        return {self.configuration / "manifests": 0o755, self.configuration / "objects": 0o750}

    @property
    def record(self) -> Path:
        """The list of what was installed."""
        return self.home / "installed.json"


def places(variables: Mapping[str, str]) -> Places:
    """Return where things go. Raises ``InstallError`` for a path that cannot be one.

    PREFIX is the folder of the agent if its name is actorlet; otherwise the agent is in lib/actorlet below.
    What others have to find is below PREFIX too. But nobody looks below /opt: then it is in /usr/local.
    """
    prefix = _path(variables, "PREFIX", DEFAULT_PREFIX)
    is_own = prefix.name == "actorlet"
    base = Path("/usr/local") if prefix.is_relative_to("/opt") else prefix
    has_unit = base in SYSTEM_BASES or bool(variables.get("UNITDIR"))
    configuration = _path(variables, "SYSCONFDIR", "/etc" if has_unit else str(prefix / "etc"))
    units = _path(variables, "UNITDIR", str(base / "lib/systemd/system"))
    return Places(
        home=prefix if is_own else prefix / "lib/actorlet",
        bin=_path(variables, "BINDIR", str(base / "bin")),
        share=_path(variables, "SHAREDIR", str(base / "share")),
        configuration=configuration / "actorlet",
        defaults=configuration / "default" if has_unit else None,
        units=units if has_unit else None,
    )


def destination(variables: Mapping[str, str]) -> Path:
    """Return DESTDIR, below which everything is put; / if there is none. Raises ``InstallError``."""
    return _path(variables, "DESTDIR", "/")


def below(root: Path, path: Path) -> Path:
    """Return where ``path`` is in a system whose root is ``root``."""
    return root / path.relative_to("/")


def _path(variables: Mapping[str, str], name: str, default: str) -> Path:
    said = variables.get(name) or default
    if not said.isprintable():
        raise InstallError(f"{name} has a character in it that no path should have: {said!r}")
    if not said.startswith("/"):
        raise InstallError(f"{name} has to be an absolute path, not {said!r}")
    path = Path(said)
    if ".." in path.parts:
        raise InstallError(f"{name} has to be a path without '..', not {said!r}")
    return path
