"""The flags that were typed, before any file is read.

A flag that stands for a field of the configuration file is kept under that field's path, so that
``settings.load`` lays it over the file without knowing the flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from manifests.durations import Span
from settings import defaults
from settings.errors import UsageError
from settings.flags.arguments import TypedFlag, taken_apart, typed_flags
from settings.flags.definitions import COMMAND, FLAGS, SWITCHES, VALUED
from settings.flags.flag import Flag

PROGRAM = "run.py"
"""What help calls the agent, unless it was started by another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The flags as they were given; ``None``, ``False`` or empty for those that were not."""

    config: Path | None = None
    config_dir: Path | None = None
    root_dir: Path = defaults.ROOT_DIR
    hostname_override: str = ""
    kubeconfig: Path | None = None
    in_cluster: bool = False
    standalone: bool = False
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_ip: tuple[str, ...] = ()
    runtime: str = ""
    hollow_capacity: Mapping[str, str] = field(default_factory=dict)
    force_hollow: bool = False
    change_runtime: bool = False
    manifest_url_ca_file: Path | None = None
    local_objects_dir: Path | None = None
    strict_manifests: bool = False
    clear_on_missing_path: bool = False
    adopt_static_pods: bool = False
    explain_takeover: bool = False
    validate: Path | None = None
    output: str = ""
    image_credential_provider_config: Path | None = None
    image_credential_provider_bin_dir: Path | None = None
    hollow_times: Mapping[str, Span] = field(default_factory=dict)
    hollow_seed: str = ""
    hollow_records: bool = False
    hollow_volumes: bool = False
    allow_non_loopback: bool = False
    allow_host: tuple[str, ...] = ()
    enable_chaos: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Values for fields of the configuration file by their paths, such as ``logging.format``."""
    without_effect: tuple[str, ...] = ()
    """Flags of a kubelet that have no effect here, in the order in which they were typed."""


_OWN = frozenset(CommandLine.__dataclass_fields__)


def parse(arguments: Sequence[str], program: str = PROGRAM) -> CommandLine:
    """Return the flags in ``arguments``, which do not include the name of the ``program``.

    Raises ``UsageError`` for a mistake, and ``SystemExit`` after it printed help or version.
    """
    with _complaining():
        taken = taken_apart(arguments, switches=SWITCHES, valued=VALUED)
    given = given_flags(taken.own, program)
    return CommandLine(
        **{flag.key: value for flag, value in given if flag.key in _OWN},
        fields={flag.field: value for flag, value in given if flag.field},
        without_effect=tuple(dict.fromkeys(taken.without_effect)),
    )


def typed_flags_of(arguments: Sequence[str]) -> list[TypedFlag]:
    """Return each flag in ``arguments`` as it was typed. Raises ``UsageError`` if one has no value."""
    with _complaining():
        return list(typed_flags(arguments, switches=SWITCHES, valued=VALUED))


def given_flags(arguments: Sequence[str], program: str = PROGRAM) -> list[tuple[Flag, Any]]:
    """Return the flags in ``arguments``, all of which are ours, with their values. Raises as ``parse``."""
    with _complaining():
        values = COMMAND.make_context(program, list(arguments)).params
    return [(flag, values[flag.key]) for flag in FLAGS if values[flag.key] is not None]


@contextmanager
def _complaining() -> Iterator[None]:
    try:
        yield
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None
    except click.ClickException as error:
        raise UsageError(f"{error.format_message().rstrip('.')} (--help lists the flags)") from None
