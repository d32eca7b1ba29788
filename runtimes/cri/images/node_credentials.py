"""Credentials of the node itself, which every pod may use: from docker's files, and from plugins.

``loaded_plugins``, ``read_node_files`` and ``ask_plugin`` block. They belong on threads of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from kernel import Operation
from messages.units import Seconds
from runtimes.cri.images.keyring import (
    LARGEST_CONFIG,
    AuthsRead,
    Credential,
    Keyring,
    LocatedAuth,
    read_docker_config,
    read_old_docker_config,
)
from runtimes.cri.images.options import NodeCredentials
from runtimes.cri.images.plugins import (
    CredentialPlugin,
    PluginAnswer,
    PluginAnswerError,
    PluginCache,
    PluginConfigError,
    asked_about,
    check_names,
    question,
    read_answer,
    read_plugin_config,
)
from runtimes.cri.operations.flow import DiskError, on_images

PLUGIN_DEADLINE: Final = Seconds(60.0)
_CONFIG_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})

_log = structlog.get_logger("images")


def places(root: Path, home: Path | None) -> tuple[Path, ...]:
    """Return the directories in which a kubelet looks for docker's files, in its order."""
    return (root, *(() if home is None else (home / ".docker", home)), Path("/.docker"), Path("/"))


def loaded_plugins(config: Path, directory: Path) -> tuple[CredentialPlugin, ...]:
    """Return the plugins of a configuration, a file or a directory of files. Raises ``PluginConfigError``."""
    plugins: list[CredentialPlugin] = []
    for file in _config_files(config):
        try:
            plugins += read_plugin_config(file.read_bytes())
        except OSError as error:
            raise PluginConfigError(f"{file}: cannot be read: {error.strerror}") from None
        except PluginConfigError as error:
            raise PluginConfigError(f"{file}: {error}") from None
    try:
        check_names(plugins)
    except PluginConfigError as error:
        raise PluginConfigError(f"{config}: {error}") from None
    for plugin in plugins:
        if not os.access(directory / plugin.name, os.X_OK):
            raise PluginConfigError(f"{directory / plugin.name}: there is no such program")
    return tuple(plugins)


def read_node_files(directories: Sequence[Path]) -> AuthsRead:
    """Return what is in the first of docker's files that can be used. Of the others nothing counts."""
    complaints: list[str] = []
    for name, read in (("config.json", read_docker_config), (".dockercfg", read_old_docker_config)):
        for directory in directories:
            file = directory / name
            try:
                with file.open("rb") as opened:
                    data = opened.read(LARGEST_CONFIG + 1)
            except FileNotFoundError:
                continue
            except OSError as error:
                complaints.append(f"{file}: cannot be read: {error.strerror}")
                continue
            found = read(data)
            complaints += [f"{file}: {each}" for each in found.complaints]
            if found.entries:
                return AuthsRead(found.entries, tuple(complaints))
    return AuthsRead((), tuple(complaints))


def ask_plugin(sources: NodeCredentials, plugin: CredentialPlugin, repository: str) -> PluginAnswer:
    """Run a plugin, and return its answer. Raises ``DiskError``."""
    if sources.run is None or sources.plugin_directory is None:
        raise DiskError("there is nothing to run it with")
    try:
        output = sources.run(
            [str(sources.plugin_directory / plugin.name), *plugin.args],
            deadline=PLUGIN_DEADLINE,
            environment={**sources.environment, **plugin.env},
            told=question(repository),
        )
        return read_answer(plugin, output)
    except PluginAnswerError as error:
        raise DiskError(str(error)) from None
    except Exception as error:  # noqa: BLE001  # of whoever runs it
        raise DiskError(str(error)) from None


def _config_files(config: Path) -> Iterator[Path]:
    if not config.is_dir():
        yield config
        return
    files = sorted(each for each in config.iterdir() if each.suffix in _CONFIG_SUFFIXES)
    if not files:
        raise PluginConfigError(f"{config}: has no file of a configuration")
    yield from files


@dataclass(slots=True)
class NodeKeyring:
    """Finds the node's own credentials. What fails is said, and done without."""

    sources: NodeCredentials
    cache: PluginCache
    now: Callable[[], Seconds]
    note_error: Callable[[str], None]
    """Is told the name of a plugin that gave nothing."""

    def lookup(self, repository: str) -> Operation[tuple[Credential, ...]]:
        """Find the credentials for a repository."""
        keyring = Keyring()
        for plugin in asked_about(self.sources.plugins, repository):
            keyring.add((yield from self._of_plugin(plugin, repository)))
        if self.sources.directories:
            keyring.add((yield from self._of_files()))
        return keyring.lookup(repository)

    def _of_plugin(
        self, plugin: CredentialPlugin, repository: str
    ) -> Operation[tuple[LocatedAuth, ...]]:
        known = self.cache.find(plugin.name, repository, self.now())
        if known is not None:
            return known.entries
        try:
            answer = yield from on_images(lambda: ask_plugin(self.sources, plugin, repository))
        except DiskError as error:
            _log.warning("a credential plugin", plugin=plugin.name, trouble=str(error))
            self.note_error(plugin.name)
            return ()
        self.cache.keep(plugin.name, repository, answer, self.now())
        return answer.entries

    def _of_files(self) -> Operation[tuple[LocatedAuth, ...]]:
        try:
            found = yield from on_images(lambda: read_node_files(self.sources.directories))
        except DiskError as error:
            found = AuthsRead((), (str(error),))
        for complaint in found.complaints:
            _log.warning("credentials of the node", trouble=complaint)
        return found.entries
