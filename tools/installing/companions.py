"""The files that are found by others than the agent: shells, man, systemd, and people who configure it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.installing import templates
from tools.installing.failures import InstallError
from tools.installing.places import Places
from tools.installing.release import ROOT

TEMPLATES: Final = ROOT / "packaging"
MAN_PAGE: Final = ROOT / "docs" / "man" / "actorlet.1"
COMPLETIONS: Final = {
    "bash": "bash-completion/completions/actorlet",
    "zsh": "zsh/site-functions/_actorlet",
    "fish": "fish/vendor_completions.d/actorlet.fish",
}
"""Where each shell looks below a share directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """One file, and where it goes without DESTDIR."""

    path: Path
    content: bytes
    mode: int = 0o644
    is_configuration: bool = False
    """Whether people change it."""


def companions(where: Places, release: Path, home: Path) -> list[Companion]:
    """Return the files for a release that is in ``release`` now. ``home`` is what the wrapper runs.

    Raises ``InstallError``.
    """
    wrapper = templates.wrapper(_template("actorlet.sh"), home)
    found = [Companion(path=where.bin / "actorlet", content=wrapper.encode(), mode=0o755)]
    command = (str(release / templates.ENVIRONMENT), "-P", str(release / "command/__main__.py"))
    found += [
        Companion(path=where.share / path, content=completion(command, shell))
        for shell, path in COMPLETIONS.items()
    ]
    page = where.share / "man/man1/actorlet.1"
    found.append(Companion(path=page, content=MAN_PAGE.read_bytes()))
    if where.units is not None:
        unit = templates.unit(_template("actorlet.service"), where, home)
        found.append(Companion(path=where.units / "actorlet.service", content=unit.encode()))
    return found + configuration_files(where)


def configuration_files(where: Places) -> list[Companion]:
    """Return the examples that people make their own."""
    texts = {
        where.configuration / "config.yaml": templates.configuration(
            _template("config.yaml"), where
        )
    }
    if where.defaults is not None:
        flags = templates.flags(_template("actorlet.default"), where)
        texts[where.defaults / "actorlet"] = flags
    return [
        Companion(path=path, content=text.encode(), is_configuration=True)
        for path, text in texts.items()
    ]


def completion(command: Sequence[str], shell: str) -> bytes:
    """Return the script by which ``shell`` completes: ``command`` says it itself."""
    done = subprocess.run(  # noqa: S603  # nothing of it comes from outside
        command,
        env={**os.environ, "_ACTORLET_COMPLETE": f"{shell}_source"},
        capture_output=True,
        check=False,
    )
    if done.returncode or b"_ACTORLET_COMPLETE" not in done.stdout:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise InstallError(f"the command does not say how {shell} completes: {said}")
    return done.stdout


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text()
