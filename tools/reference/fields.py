"""The page of the configuration file's fields, from its schema and from what the loader says of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final

from settings.agent import effective_configuration
from settings.configuration.field_types import words
from settings.configuration.schema import API_VERSION, KIND, KubeletConfiguration
from settings.effects import SERVED
from settings.explaining.values import at, defaults_of_fields
from settings.flags.command_line import parse
from settings.flags.definitions import FLAGS
from settings.load import settings_of
from settings.load_cluster import SERVED_IN_A_CLUSTER
from settings.load_containers import SERVED_OF_CONTAINERS
from settings.load_resources import SERVED_OF_HOLLOW_PODS
from settings.without_effect import TABLE
from tools.reference.flags import meaning
from tools.reference.links import of_field
from tools.reference.markdown import code, codes, page, section, table

MEANINGS: Final = {
    "podLogsDir": "Where the logs of containers are",
    "imagePullCredentialsVerificationPolicy": "Who may have an image that is there already",
    "preloadedImagesVerificationAllowlist": "Repositories whose images anybody may have",
    "nodeStatusReportFrequency": "Time between two reports of a status that does not change; as "
    "`nodeStatusUpdateFrequency` if only that is set",
    "nodeLeaseDurationSeconds": "How long a renewal of the Lease is good",
    "imageMaximumGCAge": "How long an image may be unused; 0s is for ever",
    "singleProcessOOMKill": "Whether a process that is out of memory dies alone; by default "
    "so under cgroup v1",
    "maxParallelImagePulls": "Images that are pulled at the same time",
    "mergeDefaultEvictionSettings": "Thresholds that `evictionHard` does not name keep their "
    "defaults; otherwise they are 0, as in a kubelet",
    "containerLogMaxWorkers": "Logs that are rotated at the same time",
    "containerLogMonitorInterval": "Time between two looks at the sizes of logs, at least 3s",
    "configMapAndSecretChangeDetectionStrategy": "How Secrets and ConfigMaps are kept current",
    "crashLoopBackOff.maxContainerRestartPeriod": "The longest wait of a container that ends again "
    "and again, from 1s to 5m",
    "userNamespaces.idsPerPod": "User ids of a pod with users of its own: a multiple of 65536, up to 1048576",
}
"""What fields say that no flag sets."""

INTRODUCTION: Final = f"""\
The configuration file is a kubelet's: `{KIND}` of `{API_VERSION}`, with every field that a kubelet up to
1.36 knows. Unknown fields keep the agent from starting. [`actorlet
explain-node`](../command.md#what-of-my-kubelets-file-is-obeyed) says the same of the fields of one file.
Flags that say the same win: [flags](flags.md). How files are read and merged:
[configuration](../configuration.md).

Zero and empty ask for the default, as in a kubelet, where they do not mean something of their own. The
defaults are those of a node of a cluster with real containers; fields that have an effect elsewhere
alone show theirs."""


def fields_page() -> str:
    """Return the page."""
    anywhere = SERVED - SERVED_OF_HOLLOW_PODS
    return page(
        "Fields of the configuration file",
        INTRODUCTION,
        _obeyed("Obeyed on any node", anywhere),
        _obeyed("Obeyed on a node of a cluster", SERVED_IN_A_CLUSTER),
        _obeyed("Obeyed where real containers run", SERVED_OF_CONTAINERS),
        _obeyed("Obeyed where pods are hollow", SERVED_OF_HOLLOW_PODS),
        section(
            "Without effect",
            "They are read and checked, so that a kubelet's file works unchanged. One warning names those "
            "that were set to something else than a kubelet's default.",
            table(("why", "fields"), _ignored()),
        ),
    )


def _obeyed(title: str, paths: AbstractSet[str]) -> str:
    columns = ("field", "type", "default", "flag", "what it says")
    return section(title, table(columns, _rows(paths)))


def _rows(paths: AbstractSet[str]) -> Iterator[tuple[str, ...]]:
    effective = _effective()
    plain = defaults_of_fields()
    for path, known in KubeletConfiguration.known_fields():
        name = ".".join(path)
        if name in paths:
            value = at(effective, path)
            more = of_field(name)
            flag = next((flag for flag in FLAGS if flag.field == name), None)
            says = meaning(flag) if flag is not None else MEANINGS[name]
            yield (
                code(name),
                words(known),
                code(_text(plain[name] if value is None else value)),
                code(flag.opts[-1]) if flag is not None else "",
                says + (f" ([more]({more}))" if more else ""),
            )


def _effective() -> dict[str, Any]:
    line = parse(["--kubeconfig=/kubeconfig", "--runtime=cri"])
    document = effective_configuration(settings_of(line, [], hostname="node"))
    return dict(document["kubeletconfig"])


def _text(value: Any) -> str:
    if value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _ignored() -> Iterator[tuple[str, str]]:
    for row in TABLE:
        if row.fields:
            yield row.instead or "not served", codes(sorted(row.fields.split()))
