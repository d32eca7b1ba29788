"""The command line, before any file is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from settings.errors import UsageError
from settings.kinds import FORMAT, PATH, PLACE, SWITCH, TEXT
from settings.rows import Section, row, rows_of

_of_files = partial(row, section=Section.CONFIGURATION)
_of_clusters = partial(row, section=Section.CLUSTER)
_of_looking = partial(row, section=Section.LOOKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The flags as they were given; ``None``, ``False`` or empty for those that were not."""

    config: Path | None = _of_files(
        PATH,
        flag="--config",
        says="KubeletConfiguration (v1beta1), YAML or JSON. Flags win over it",
    )
    config_dir: Path | None = _of_files(
        PATH,
        flag="--config-dir",
        says="Drop-ins (*.conf), merged over --config in order of their names",
    )
    kubeconfig: Path | None = _of_clusters(
        PATH,
        flag="--kubeconfig",
        says="The cluster to join; without it the agent is standalone",
        more="joining-a-cluster.md",
    )
    in_cluster: bool = _of_clusters(
        SWITCH, flag="--in-cluster", says="Join the cluster that the agent runs in as a pod"
    )
    standalone: bool = _of_clusters(
        SWITCH, flag="--standalone", says="Join no cluster; as without --kubeconfig"
    )
    runtime: str = row(
        TEXT,
        flag="--runtime",
        says="cri for containers, hollow, which only pretends, or MODULE:CLASS",
        default_says="cri",
        more="configuration.md#what-runs-pods",
        section=Section.RUNTIME,
    )
    validate: Path | None = _of_looking(
        PLACE,
        flag="--validate",
        says="Tell the verdict on each manifest of a directory, or on one file, and end with 0 or 1",
        more="manifests.md#before-an-agent-reads-them",
    )
    explain_takeover: bool = _of_looking(
        SWITCH,
        flag="--explain-takeover",
        says="Tell what would become of the pods that run now, change nothing, and end with 0 or 1",
        more="moving-from-a-kubelet.md#ask",
    )
    output: str = _of_looking(
        FORMAT, flag="-o, --output", says="How these are told", default_says="text"
    )
    others: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Values of all other flags, by the names of their rows: the path of a field, or the flag."""
    without_effect: tuple[str, ...] = ()
    """Flags of a kubelet that have no effect here, in the order in which they were typed."""

    @property
    def typed(self) -> Mapping[str, Any]:
        """The values of all flags that were given, by the names of their rows."""
        own = {row.name: getattr(self, name) for name, row in rows_of(CommandLine)}
        return {**{name: value for name, value in own.items() if value}, **self.others}

    @property
    def is_joining(self) -> bool:
        """Whether there is a cluster to join."""
        return bool(self.kubeconfig or self.in_cluster)


def check_contradictions(line: CommandLine) -> None:
    """Raise ``UsageError`` when flags do not go together."""
    chosen = {
        "--standalone": line.standalone,
        "--kubeconfig": bool(line.kubeconfig),
        "--in-cluster": line.in_cluster,
    }
    names = [name for name, is_chosen in chosen.items() if is_chosen]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} contradict each other", at=names[-1])
    if line.output and line.validate is None and not line.explain_takeover:
        raise UsageError(
            "--output has an effect only with --validate and --explain-takeover", at="--output"
        )
    if line.explain_takeover and line.validate is not None:
        raise UsageError(
            "--validate and --explain-takeover are two questions: ask one at a time",
            at="--explain-takeover",
        )
