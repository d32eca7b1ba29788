"""What is done on disk for the keeper of logs: rotations, links, and removing what is not needed. Blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor, wait
from contextlib import suppress
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from actors.logs.directories import LogDirectory, opened
from actors.logs.layout import (
    GZIP,
    LoggedPod,
    LogOptions,
    is_link_name,
    log_name,
    owner_of,
    pod_log_name,
    rotated_names,
)
from actors.logs.rotating import carry_out, log_files
from actors.logs.rotation import (
    CompressLogFile,
    MoveLog,
    RotationStep,
    rotation_steps,
    tidying_steps,
)
from actors.logs.upkeep import (
    LoggedContainer,
    WantedPods,
    link_of,
    old_attempts,
    orphans,
)
from messages.container_logs import LogOwner
from messages.pod_lives import PodLife
from messages.pods import PodUid


class MovedLog(NamedTuple):
    """A log whose runtime is to open it anew, or that was missing."""

    id: str
    pod: LoggedPod
    container: str
    name: str
    new: str
    """What the log was renamed to; empty if it was missing."""


class LogHousekeeping:
    """Works on the logs of all containers. Owned by one actor. All of it may be repeated."""

    def __init__(self, options: LogOptions, note: Callable[[str, OSError | None], None]) -> None:
        """``note`` is told how each kind of work went, so that a trouble is said once."""
        self._options = options
        self._root = options.pods_directory
        self._note = note

    # --- rotations -------------------------------------------------------------------------------------

    def rotate(self, container: LoggedContainer, now: datetime, *, tidy: bool) -> MovedLog | None:
        """Rotate a running container's log if it is too long. Return it if it is to be opened anew."""
        return self.rotate_all([container], now, {container.id} if tidy else frozenset())[0]

    def rotate_all(
        self,
        containers: Sequence[LoggedContainer],
        now: datetime,
        untidy: Collection[str],
        pool: Executor | None = None,
    ) -> list[MovedLog | None]:
        """Do so with the logs of some containers, at the same time if there is a ``pool`` of threads.

        ``untidy`` are the ids of those whose directory was not tidied yet. Nothing goes on when it returns.
        """
        works = [_Rotation(self._options, each, now, tidy=each.id in untidy) for each in containers]
        if pool is None:
            moved = [work.run() for work in works]
        else:
            futures = [pool.submit(work.run) for work in works]
            wait(futures)
            moved = [future.result() for future in futures]
        for kind, error in chain.from_iterable(work.notes for work in works):
            self._note(kind, error)
        return moved

    def undo(self, moved: MovedLog) -> None:
        """Give a log its name back, unless its runtime has opened a new one after all."""
        if not moved.new:
            return
        try:
            with opened(self._root, pod_log_name(moved.pod), moved.container) as directory:
                directory.rename_to_free(moved.new, moved.name)
        except (FileExistsError, FileNotFoundError):
            return
        except OSError as error:
            self._note("rotate", error)

    # --- links -----------------------------------------------------------------------------------------

    def link(self, containers: Iterable[LoggedContainer]) -> None:
        """Have a link to the log of each container that was started."""
        links = self._options.links_directory
        started = [each for each in containers if each.is_started]
        if links is None or not started:
            return
        try:
            links.mkdir(parents=True, exist_ok=True)
            with opened(links) as directory:
                for each in started:
                    self._link(directory, each)
        except OSError as error:
            self._note("link", error)
        else:
            self._note("link", None)

    def _link(self, directory: LogDirectory, container: LoggedContainer) -> None:
        name, target = link_of(self._root, container)
        present = directory.target_of(name)
        if present == target or "/" in name or not self._has_log(container):
            return
        if present is not None:
            directory.remove_file(name)
        with suppress(FileExistsError):
            directory.link(name, target)

    def _has_log(self, container: LoggedContainer) -> bool:
        with (
            suppress(OSError),
            opened(self._root, pod_log_name(container.pod), container.name) as directory,
        ):
            return directory.file(log_name(container.attempt)) is not None
        return False

    # --- what is not needed any more -------------------------------------------------------------------

    def tidy_attempts(self, containers: Iterable[LoggedContainer]) -> None:
        """Remove logs of instances that are long gone, and give those that ended their names back."""
        known: dict[tuple[LoggedPod, str], dict[int, bool]] = defaultdict(dict)
        for each in containers:
            known[each.pod, each.name][each.attempt] = each.is_running
        for (pod, name), attempts in known.items():
            try:
                with opened(self._root, pod_log_name(pod), name) as directory:
                    self._tidy_attempts(directory, attempts)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._note("remove", error)

    def _tidy_attempts(self, directory: LogDirectory, attempts: Mapping[int, bool]) -> None:
        names = directory.names()
        owners = {name: owner for name in names if (owner := owner_of(name)) is not None}
        gone = old_attempts(set(owners.values()), attempts.keys())
        for name, owner in owners.items():
            if owner in gone:
                directory.remove_file(name)
        for attempt, is_running in attempts.items():
            name = log_name(attempt)
            rotated = rotated_names(name, names)
            if not is_running and name not in names and rotated and not rotated[-1].endswith(GZIP):
                # A process was killed between renaming it and having it opened anew.
                directory.rename_to_free(rotated[-1], name)

    def orphans(
        self,
        running: Collection[PodUid],
        wanted: WantedPods,
        lives: Mapping[PodUid, PodLife],
    ) -> list[str]:
        """Return the names of the directories of logs that nobody needs."""
        try:
            with opened(self._root) as root:
                return orphans(root.oldest_first(), running, wanted, lives)
        except FileNotFoundError:
            return []
        except OSError as error:
            self._note("remove", error)
            return []

    def remove_pod(self, name: str) -> bool:
        """Remove the directory of a pod's logs. Return whether it is gone."""
        try:
            with opened(self._root) as root:
                root.remove_tree(name)
        except OSError as error:
            self._note("remove", error)
            return False
        self._note("remove", None)
        return True

    def tidy_links(self, wanted: Collection[str]) -> None:
        """Remove our links to logs that are gone, but for those with a name in ``wanted``."""
        links, root = self._options.links_directory, self._root
        if links is None:
            return
        try:
            with opened(links) as directory:
                for name in filter(is_link_name, directory.names()):
                    target = directory.target_of(name)
                    if target is None or name in wanted or not target.startswith(f"{root}/"):
                        continue
                    if not self._is_there(target.removeprefix(f"{root}/")):
                        directory.remove_file(name)
        except FileNotFoundError:
            return
        except OSError as error:
            self._note("link", error)

    def _is_there(self, path: str) -> bool:
        *inner, name = path.split("/")
        try:
            with opened(self._root, *inner) as directory:
                return directory.has(name)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    # --- how much room they take -----------------------------------------------------------------------

    def used_bytes(self, containers: Iterable[LoggedContainer]) -> dict[LogOwner, int]:
        """Return how much room the logs of each container take."""
        used: dict[LogOwner, int] = {}
        for each in containers:
            owner = LogOwner(each.pod.uid, each.pod.namespace, each.pod.name, each.name)
            if owner in used:
                continue
            with (
                suppress(OSError),
                opened(self._root, pod_log_name(each.pod), each.name) as directory,
            ):
                used[owner] = sum(status.size for status in log_files(directory).values())
        return used


class _Rotation:
    """One look at the log of one container. It belongs to one thread, and knows nothing of the others."""

    def __init__(
        self, options: LogOptions, container: LoggedContainer, now: datetime, *, tidy: bool
    ) -> None:
        self._options = options
        self._container = container
        self._now = now
        self._tidy = tidy
        self.notes: list[tuple[str, OSError | None]] = []
        """How each kind of work went."""

    def run(self) -> MovedLog | None:
        """Rotate the log if it is too long. Return it if it is to be opened anew."""
        container, name = self._container, log_name(self._container.attempt)
        place = (self._options.pods_directory, pod_log_name(container.pod), container.name)
        try:
            with opened(*place) as directory:
                new = self._rotate(directory, name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.notes.append(("rotate", error))
            return None
        if new is None:
            return None
        return MovedLog(container.id, container.pod, container.name, name, new)

    def _rotate(self, directory: LogDirectory, name: str) -> str | None:
        """Return what the log was renamed to; empty if it is missing, None if nothing is to be opened."""
        live = directory.file(name)
        if live is None:
            return None if directory.has(name) else ""
        if live.size > self._options.max_size >= 0:
            steps = rotation_steps(name, log_files(directory), self._options.max_files, self._now)
            return self._carry_out(directory, steps)
        if self._tidy:
            self._carry_out(directory, tidying_steps(name, log_files(directory)))
        return None

    def _carry_out(self, directory: LogDirectory, steps: Iterable[RotationStep]) -> str | None:
        """Return what the log was renamed to, if it was.

        A step that fails keeps no other from being carried out: without room to compress, a file stays as it
        is, and renaming takes no room.
        """
        moved = None
        for step in steps:
            work = "compress" if isinstance(step, CompressLogFile) else "rotate"
            try:
                carry_out(directory, step)
            except OSError as error:
                self.notes.append((work, error))
            else:
                self.notes.append((work, None))
                moved = step.new if isinstance(step, MoveLog) else moved
        return moved
