"""``make install`` and ``make uninstall``.

A release is made beside those that are there, and becomes the current one by a rename. So whoever runs
another release goes on with it, and an installation that is interrupted has changed nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.installing.companions import Companion, companions
from tools.installing.failures import InstallError
from tools.installing.places import Places, below
from tools.installing.records import Record, digest, read_record
from tools.installing.release import make_release, version
from tools.installing.running import users_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One place of the agent, below one root."""

    where: Places
    root: Path = Path("/")
    said: list[str] = field(default_factory=list)
    """Sentences for whoever asked for it."""

    def install(self) -> None:
        """Put the agent there, or another release of it. Raises ``InstallError``."""
        record = self._recorded() or Record()
        self._check_rights()
        self._check_strangers(record)
        self.root.mkdir(parents=True, exist_ok=True)
        self._make_directory(self.where.home, record)
        with self._alone():
            self._save(record)
            name = self._make_release()
            self._put_companions(record, self._at(self.where.home / "releases" / name))
            self._make_current(name)
            self._remove_releases(but=name)

    def uninstall(self) -> None:
        """Take away what was installed, and nothing else. Raises ``InstallError``."""
        record = self._recorded()
        if record is None:
            raise InstallError(f"nothing was installed at {self.where.home} (PREFIX says where)")
        home = self._at(self.where.home)
        users = users_of(home / "releases")
        if users:
            pids = ", ".join(map(str, users))
            raise InstallError(
                f"the agent or a command still runs from {home} (pid {pids}): stop it"
            )
        self._check_rights()
        for path in sorted(record.files):
            self._remove_file(Path(path), record)
        self._at(self.where.current).unlink(missing_ok=True)
        shutil.rmtree(home / "releases", ignore_errors=True)
        self._at(self.where.record).unlink()
        self._remove_directories(record)

    def _at(self, path: Path) -> Path:
        return below(self.root, path)

    def _recorded(self) -> Record | None:
        return read_record(self._at(self.where.record))

    def _folders(self) -> list[Path]:
        where = self.where
        optional = [each for each in (where.defaults, where.units) if each is not None]
        return [where.home, where.bin, where.share, where.configuration, *optional]

    def _check_rights(self) -> None:
        for folder in self._folders():
            there = self._at(folder)
            while not there.exists():
                there = there.parent
            if not there.is_dir():
                raise InstallError(f"{there} is in the way: it is no directory")
            if not os.access(there, os.W_OK | os.X_OK):
                raise InstallError(
                    f"you may not write to {there}: be root, or choose a PREFIX that is yours, "
                    f"such as {Path.home() / '.local'}"
                )

    def _check_strangers(self, record: Record) -> None:
        """Raise ``InstallError`` if the command's name is taken by somebody else."""
        path = self.where.bin / "actorlet"
        if os.path.lexists(self._at(path)) and str(path) not in record.files:
            raise InstallError(
                f"{path} is there, and was not installed by this: move it away, or choose a BINDIR"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from installing into the same place meanwhile. Raises ``InstallError``."""
        descriptor = os.open(self._at(self.where.home), os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise InstallError(f"somebody else installs into {self.where.home} just now") from None
        finally:
            os.close(descriptor)

    def _make_release(self) -> str:
        releases = self._at(self.where.home / "releases")
        releases.mkdir(exist_ok=True)
        for left in releases.glob(".making-*"):
            shutil.rmtree(left)
        name = next_name(version(), {each.name for each in releases.iterdir()})
        with tempfile.TemporaryDirectory(
            prefix=".making-", dir=releases, ignore_cleanup_errors=True
        ) as making:
            release = Path(making, "release")
            release.mkdir()
            make_release(release, self.where.home / "releases" / name)
            release.rename(releases / name)
        return name

    def _make_current(self, name: str) -> None:
        link = self._at(self.where.current)
        beside = link.with_name(".current")
        beside.unlink(missing_ok=True)
        beside.symlink_to(Path("releases", name))
        beside.replace(link)

    def _remove_releases(self, but: str) -> None:
        """Remove the releases that nothing runs from."""
        for release in sorted(self._at(self.where.home / "releases").iterdir()):
            if release.name == but:
                continue
            users = users_of(release)
            if users:
                pids = ", ".join(map(str, users))
                self.said.append(
                    f"{release} stays until the next installation: {pids} runs from it"
                )
            else:
                shutil.rmtree(release)

    def _put_companions(self, record: Record, release: Path) -> None:
        for folder, mode in self.where.folders.items():
            if not self._at(folder).exists():
                self._make_directory(folder, record)
                self._at(folder).chmod(mode)
        for each in companions(self.where, release, self.where.current):
            self._put(each, record)
            self._save(record)

    def _put(self, file: Companion, record: Record) -> None:
        there = self._at(file.path)
        is_kept = file.is_configuration and there.exists()
        if is_kept and record.has_changed(file.path, there.read_bytes()):
            self.said.append(f"{file.path} is as it was: somebody has changed it")
            return
        self._make_directory(file.path.parent, record)
        beside = there.with_name(f".{there.name}.new")
        beside.write_bytes(file.content)
        beside.chmod(file.mode)
        beside.replace(there)
        record.files[str(file.path)] = digest(file.content)

    def _save(self, record: Record) -> None:
        there = self._at(self.where.record)
        beside = there.with_name(f".{there.name}.new")
        beside.write_text(record.written())
        beside.replace(there)

    def _make_directory(self, folder: Path, record: Record) -> None:
        missing = []
        while not self._at(folder).exists():
            missing.append(folder)
            folder = folder.parent
        for each in reversed(missing):
            self._at(each).mkdir()
            record.directories.add(str(each))

    def _remove_file(self, path: Path, record: Record) -> None:
        there = self._at(path)
        with suppress(FileNotFoundError):
            if record.has_changed(path, there.read_bytes()):
                self.said.append(f"{path} stays: somebody has changed it")
            else:
                there.unlink()

    def _remove_directories(self, record: Record) -> None:
        """Remove those that this has made and that are empty, and name what people have put there."""
        named = " ".join(self.said)
        for folder in sorted({*record.directories, *map(str, self.where.folders)}, reverse=True):
            there = self._at(Path(folder))
            with suppress(OSError):  # somebody else has put something there
                if folder in record.directories:
                    there.rmdir()
            files = [each.name for each in there.glob("*") if not each.is_dir()]
            left = sorted(each for each in files if f"{folder}/{each} " not in named)
            if left:
                more = f" and {len(left) - 3} more" if len(left) > 3 else ""
                self.said.append(f"{folder} stays: {', '.join(left[:3])}{more} in it")
        if self.where.units is not None and self._at(self.where.state).is_dir():
            self.said.append(f"{self.where.state} stays, with what the agent has kept")


def next_name(release: str, taken: set[str]) -> str:
    """Return a name for a folder of ``release`` that none of ``taken`` is. Pure."""
    number = 1
    while f"{release}-{number}" in taken:
        number += 1
    return f"{release}-{number}"
