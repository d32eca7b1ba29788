"""Every flag of the command line: its name, what it takes, the field it sets, its line of help.

The names are the kubelet's wherever it has one. Imports little, so that ``--help`` and mistyped flags
are answered at once. The values of a flag never appear in a complaint: a header may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from settings.values.addresses import ip_address
from settings.values.durations import checked_frequency, format_duration, parse_duration
from settings.version import version

DEFAULT_ROOT_DIR = Path("/var/lib/actorlet")


class Flag(click.Option):
    """A flag, and the path of the configuration's field that it sets, if it sets one."""

    def __init__(self, names: str, kind: Kind, help: str, field: str = "", **more: Any) -> None:  # noqa: A002 - click's word
        super().__init__(names.split(", "), type=kind, help=help, **{**kind.attributes, **more})
        self.field = field
        self.key = self.name or ""


class Kind(click.ParamType[Any]):
    """What a flag takes: text that a function reads, whose ``ValueError`` is the complaint."""

    def __init__(self, name: str, read: Callable[[str], Any], **attributes: Any) -> None:
        self.name = name
        self.attributes = attributes
        self._read = read

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _path(text: str) -> Path | None:
    return Path(text) if text else None  # an empty flag is no flag, to a kubelet as well


def _frequency(text: str) -> str:
    return format_duration(checked_frequency(parse_duration(text)))


def _switch(text: str) -> bool:
    # The words of Go's flags.
    if text not in {
        "1",
        "t",
        "T",
        "true",
        "TRUE",
        "True",
        "0",
        "f",
        "F",
        "false",
        "FALSE",
        "False",
    }:
        raise ValueError("should be true or false")
    return text[0] in "1tT"


def _number(text: str) -> int:
    number = text.removeprefix("=")  # Go reads "-v=4" and "-v 4" alike
    if not (number.isascii() and number.isdigit() and int(number) < 2**31):
        raise ValueError("should be a whole number from 0 on")
    return int(number)


def _port(text: str) -> int:
    if _number(text) > 65535:
        raise ValueError("should be a port from 0 to 65535; 0 is off")
    return int(text)


def _format(text: str) -> str:
    if text not in {"text", "json"}:
        raise ValueError("should be text or json")
    return text


def _labels(text: str) -> dict[str, str]:
    return dict(_pairs(text, "=", "should be name=value,name=value"))


def _pairs(text: str, separator: str, complaint: str) -> list[tuple[str, str]]:
    pairs = [pair.partition(separator) for pair in text.split(",") if pair.strip()]
    if not all(name.strip() and found for name, found, _ in pairs):
        raise ValueError(complaint)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(ip_address(each.strip()) for each in text.split(",") if each.strip())


def _taints(text: str) -> list[dict[str, str]]:
    """Read ``key=value:Effect,key:Effect``."""
    return [_taint(each.strip()) for each in text.split(",") if each.strip()]


def _taint(text: str) -> dict[str, str]:
    what, colon, effect = text.rpartition(":")
    key, _, value = what.partition("=")
    if not colon or not key:
        raise ValueError("should be key=value:Effect,key:Effect")
    return {"key": key, "value": value, "effect": effect}


def _headers(text: str) -> list[tuple[str, str]]:
    return _pairs(text, ":", "should be name:value,name:value")


def _gathered(_: click.Context, __: click.Parameter, given: Sequence[Any]) -> Any:
    """Join the headers of a repeated flag: every value of a name, in the order they were typed."""
    headers: dict[str, list[str]] = {}
    for name, value in (pair for pairs in given for pair in pairs):
        headers.setdefault(name, []).append(value)
    return headers or None


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - called by click
    if asked:
        click.echo(f"actorlet {version()}")
        context.exit()


_PATH = Kind("path", _path)
_TEXT = Kind("text", str)
_FREQUENCY = Kind("duration", _frequency)
_ADDRESS = Kind("ip", ip_address)
_NUMBER = Kind("number", _number)
_PORT = Kind("port", _port)
_FORMAT = Kind("format", _format, metavar="text|json")
_LABELS = Kind("labels", _labels, metavar="NAME=VALUE,...")
_ADDRESSES = Kind("ips", _addresses, metavar="IP[,IP]")
_TAINTS = Kind("taints", _taints, metavar="KEY=VALUE:EFFECT,...")
_HEADERS = Kind("headers", _headers, metavar="NAME:VALUE,...", multiple=True, callback=_gathered)
# "--flag", "--flag=true" and "--flag=false", as with Go's flags.
_SWITCH = Kind("", _switch, is_flag=False, flag_value="true", metavar="")

SECTIONS: Mapping[str, Sequence[Flag]] = {
    "Configuration": [
        Flag("--config", _PATH, "KubeletConfiguration (v1beta1), YAML or JSON. Flags win over it."),
        Flag(
            "--config-dir",
            _PATH,
            "Drop-ins (*.conf), merged over --config in order of their names.",
        ),
        Flag("--root-dir", _PATH, f"Where the agent keeps its files [{DEFAULT_ROOT_DIR}]."),
        Flag("--hostname-override", _TEXT, "Name of this node [the host's name in lower case]."),
    ],
    "Where pods come from": [
        Flag(
            "--pod-manifest-path", _TEXT, "Directory of static pods, or one file.", "staticPodPath"
        ),
        Flag(
            "--file-check-frequency",
            _FREQUENCY,
            "Time between two scans; changes are seen at once besides [2s].",
            "fileCheckFrequency",
        ),
        Flag(
            "--local-objects-dir",
            _PATH,
            "Directory of Secrets and ConfigMaps for static pods, one in each file.",
        ),
        Flag("--strict-manifests", _SWITCH, "Refuse manifests with unknown fields."),
        Flag("--clear-on-missing-path", _SWITCH, "Stop its pods when the directory vanishes."),
        Flag("--manifest-url", _TEXT, "Where to ask for static pods.", "staticPodURL"),
        Flag("--manifest-url-header", _HEADERS, "Sent with it; may repeat.", "staticPodURLHeader"),
        Flag("--manifest-url-ca-file", _PATH, "Whose certificates that server may have (PEM)."),
        Flag(
            "--http-check-frequency",
            _FREQUENCY,
            "Time between two such questions [20s].",
            "httpCheckFrequency",
        ),
    ],
    "Joining a cluster": [
        Flag("--kubeconfig", _PATH, "The cluster to join; without it the agent is standalone."),
        Flag("--in-cluster", _SWITCH, "Join the cluster that the agent runs in as a pod."),
        Flag("--standalone", _SWITCH, "Join no cluster; as without --kubeconfig."),
        Flag(
            "--register-node", _SWITCH, "Create the Node if there is none [true].", "registerNode"
        ),
        Flag("--node-labels", _LABELS, "Labels of the Node."),
        Flag("--node-ip", _ADDRESSES, "Addresses of the Node [that of the default route]."),
        Flag(
            "--register-with-taints",
            _TAINTS,
            "Taints of the Node when it is created.",
            "registerWithTaints",
        ),
        Flag("--max-pods", _NUMBER, "Pods that the Node says it can take [110].", "maxPods"),
        Flag("--kube-api-qps", _NUMBER, "Requests a second to the API server [50].", "kubeAPIQPS"),
        Flag("--kube-api-burst", _NUMBER, "Requests at once after a pause [100].", "kubeAPIBurst"),
        Flag(
            "--sync-frequency",
            _FREQUENCY,
            "What nobody read for five times this is watched no longer [1m].",
            "syncFrequency",
        ),
    ],
    "Endpoints": [
        Flag("--address", _ADDRESS, "Where the read-only port listens [127.0.0.1].", "address"),
        Flag("--read-only-port", _PORT, "/pods, /sourcez, ...; 0 is off [10255].", "readOnlyPort"),
        Flag(
            "--healthz-bind-address",
            _ADDRESS,
            "Where the healthz port listens [127.0.0.1].",
            "healthzBindAddress",
        ),
        Flag("--healthz-port", _PORT, "/healthz; 0 is off [10248].", "healthzPort"),
        Flag(
            "--allow-non-loopback", _SWITCH, "Let others reach these ports, without authentication."
        ),
        Flag("--enable-chaos", _SWITCH, "Let POST /debug/actors/NAME/crash crash an actor."),
    ],
    "Logs": [
        Flag("--logging-format", _FORMAT, "How log lines look [text].", "logging.format"),
        Flag("-v, --v", _NUMBER, "The higher, the more is logged [0].", "logging.verbosity"),
    ],
    "Taken as a kubelet takes them, not served yet": [
        Flag("--bootstrap-kubeconfig", _PATH, "How to get a kubeconfig."),
        Flag("--enable-server", _SWITCH, "The TLS server.", "enableServer"),
        Flag("--port", _PORT, "The TLS server's port.", "port"),
        Flag("--cgroup-driver", _TEXT, "cgroupfs or systemd.", "cgroupDriver"),
        Flag("--container-runtime-endpoint", _TEXT, "The runtime.", "containerRuntimeEndpoint"),
        Flag("--pod-infra-container-image", _TEXT, "Image of the sandbox."),
    ],
}

FLAGS: Sequence[Flag] = [flag for flags in SECTIONS.values() for flag in flags]

_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)


class Command(click.Command):
    """Prints its flags in sections."""

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = [option for option in self.get_params(ctx) if option not in FLAGS]
        for section, options in [*SECTIONS.items(), ("Other", others)]:
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(section):
                formatter.write_dl([record for record in records if record], col_max=36)


COMMAND = Command(
    "run.py",
    params=[*FLAGS, _VERSION],
    help="Decides which pods this node should run, and shows them: a Kubernetes node agent made of "
    "supervised actors. It starts no containers yet.",
    epilog="Docs: README.md and docs/. Wrong usage exits with 2, what the machine refuses with 1.",
    options_metavar="[FLAGS]",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # A kubelet reads --read_only_port as well.
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)
