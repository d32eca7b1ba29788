"""Every flag of the command line: its name, what it takes, the field it sets, its line of help.

A flag that a kubelet has too has the same name here. This module imports little, so that ``--help`` and
mistakes are answered at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
from typing_extensions import override

from settings import defaults
from settings.flags.container_flags import OF_CONTAINERS
from settings.flags.flag import Flag
from settings.flags.kinds import (
    ADDRESS,
    ADDRESSES,
    AMOUNTS,
    FORMAT,
    FREQUENCY,
    HEADERS,
    HOSTS,
    LABELS,
    NUMBER,
    PATH,
    PLACE,
    PORT,
    SWITCH,
    TAINTS,
    TEXT,
    THRESHOLDS,
    TIMES,
)
from settings.version import version


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - called by click
    if asked:
        click.echo(f"actorlet {version()}")
        context.exit()


SECTIONS: Mapping[str, Sequence[Flag]] = {
    "Configuration": [
        Flag("--config", PATH, "KubeletConfiguration (v1beta1), YAML or JSON. Flags win over it."),
        Flag(
            "--config-dir",
            PATH,
            "Drop-ins (*.conf), merged over --config in order of their names.",
        ),
        Flag("--root-dir", PATH, "Where the agent keeps its files.", default_is=defaults.ROOT_DIR),
        Flag("--hostname-override", TEXT, "Name of this node [the host's name in lower case]."),
    ],
    "Where pods come from": [
        Flag(
            "--pod-manifest-path", TEXT, "Directory of static pods, or one file.", "staticPodPath"
        ),
        Flag(
            "--file-check-frequency",
            FREQUENCY,
            "Time between two scans; changes are seen at once besides.",
            "fileCheckFrequency",
            default_is=defaults.FILE_CHECK_FREQUENCY,
        ),
        Flag(
            "--local-objects-dir",
            PATH,
            "Directory of Secrets and ConfigMaps for static pods, one in each file.",
        ),
        Flag("--strict-manifests", SWITCH, "Refuse manifests with unknown fields."),
        Flag("--clear-on-missing-path", SWITCH, "Stop its pods when the directory vanishes."),
        Flag("--manifest-url", TEXT, "Where to ask for static pods.", "staticPodURL"),
        Flag(
            "--manifest-url-header",
            HEADERS,
            "Headers of that request; may repeat.",
            "staticPodURLHeader",
        ),
        Flag("--manifest-url-ca-file", PATH, "Whose certificates that server may have (PEM)."),
        Flag(
            "--http-check-frequency",
            FREQUENCY,
            "Time between two such requests.",
            "httpCheckFrequency",
            default_is=defaults.HTTP_CHECK_FREQUENCY,
        ),
    ],
    "Joining a cluster": [
        Flag("--kubeconfig", PATH, "The cluster to join; without it the agent is standalone."),
        Flag("--in-cluster", SWITCH, "Join the cluster that the agent runs in as a pod."),
        Flag("--standalone", SWITCH, "Join no cluster; as without --kubeconfig."),
        Flag(
            "--register-node",
            SWITCH,
            "Create the Node if there is none.",
            "registerNode",
            default_is=defaults.REGISTER_NODE,
        ),
        Flag("--node-ip", ADDRESSES, "Addresses of the Node [that of the default route]."),
        Flag(
            "--kube-api-qps",
            NUMBER,
            "Requests a second to the API server.",
            "kubeAPIQPS",
            default_is=defaults.KUBE_API_QPS,
        ),
        Flag(
            "--kube-api-burst",
            NUMBER,
            "Requests at once after a pause.",
            "kubeAPIBurst",
            default_is=defaults.KUBE_API_BURST,
        ),
        Flag(
            "--event-qps",
            NUMBER,
            "Events a second to the API server; 0 for any.",
            "eventRecordQPS",
            default_is=defaults.EVENT_RECORD_QPS,
        ),
        Flag(
            "--event-burst",
            NUMBER,
            "Events at once after a pause.",
            "eventBurst",
            default_is=defaults.EVENT_BURST,
        ),
        Flag(
            "--node-status-update-frequency",
            FREQUENCY,
            "Time between two looks at the machine.",
            "nodeStatusUpdateFrequency",
            default_is=defaults.NODE_STATUS_UPDATE_FREQUENCY,
        ),
        Flag(
            "--enable-controller-attach-detach",
            SWITCH,
            "Let a controller attach the Node's volumes.",
            "enableControllerAttachDetach",
            default_is=True,
        ),
        Flag(
            "--sync-frequency",
            FREQUENCY,
            "What nobody read for five times this is watched no longer.",
            "syncFrequency",
            default_is=defaults.SYNC_FREQUENCY,
        ),
    ],
    "What runs pods": [
        Flag(
            "--runtime",
            TEXT,
            "cri for containers, hollow, which only pretends, or MODULE:CLASS [cri].",
        ),
        Flag(
            "--change-runtime",
            SWITCH,
            "Let pods of a --root-dir have another kind of runtime than before.",
        ),
        Flag(
            "--hollow-capacity", AMOUNTS, "What a hollow node has [in a cluster: as the machine]."
        ),
        Flag(
            "--hollow-times",
            TIMES,
            "How long things take, such as time-to-pull=2s-5s,run-for=10s.",
        ),
        Flag("--hollow-seed", TEXT, "Times drawn from such ranges are the same for one seed."),
        Flag("--hollow-records", SWITCH, "Let hollow containers outlive the agent's process."),
        Flag("--hollow-volumes", SWITCH, "Make the volumes of hollow pods, below --root-dir."),
        Flag("--force-hollow", SWITCH, "Take over a Node even if it is no hollow one."),
        Flag("--pod-cidr", TEXT, "Addresses of hollow pods.", "podCIDR"),
    ],
    "Real containers (--runtime cri)": OF_CONTAINERS,
    "The node": [
        Flag("--node-labels", LABELS, "Labels of the node."),
        Flag(
            "--register-with-taints",
            TAINTS,
            "Taints of the node; of a Node when it is created.",
            "registerWithTaints",
        ),
        Flag(
            "--max-pods",
            NUMBER,
            "Pods that the node takes [110 in a cluster, else any number].",
            "maxPods",
        ),
        Flag("--pods-per-core", NUMBER, "Pods for each core, if that is less.", "podsPerCore"),
        Flag("--system-reserved", AMOUNTS, "What the system needs itself.", "systemReserved"),
        Flag("--kube-reserved", AMOUNTS, "What the agent needs itself.", "kubeReserved"),
        Flag(
            "--eviction-hard",
            THRESHOLDS,
            "What has to stay free [memory.available<100Mi,nodefs.available<10%,...].",
            "evictionHard",
        ),
    ],
    "Looking only": [
        Flag(
            "--validate",
            PLACE,
            "Tell the verdict on each manifest of a directory, or on one file, and end with 0 or 1.",
        ),
        Flag(
            "--explain-takeover",
            SWITCH,
            "Tell what would become of the pods that run now, change nothing, and end with 0 or 1.",
        ),
        Flag("-o, --output", FORMAT, "How these are told.", default_is="text"),
    ],
    "Endpoints": [
        Flag(
            "--address",
            ADDRESS,
            "Where the read-only port listens.",
            "address",
            default_is=defaults.ADDRESS,
        ),
        Flag(
            "--read-only-port",
            PORT,
            "/pods, /sourcez, ...; 0 is off.",
            "readOnlyPort",
            default_is=defaults.READ_ONLY_PORT,
        ),
        Flag(
            "--healthz-bind-address",
            ADDRESS,
            "Where the healthz port listens.",
            "healthzBindAddress",
            default_is=defaults.HEALTHZ_BIND_ADDRESS,
        ),
        Flag(
            "--healthz-port",
            PORT,
            "/healthz; 0 is off.",
            "healthzPort",
            default_is=defaults.HEALTHZ_PORT,
        ),
        Flag(
            "--allow-non-loopback", SWITCH, "Let others reach these ports, without authentication."
        ),
        Flag("--allow-host", HOSTS, "Answer requests for this name, too. May be repeated."),
        Flag("--enable-server", SWITCH, "The TLS server; there is none yet.", "enableServer"),
        Flag("--enable-chaos", SWITCH, "Let POST /debug/actors/NAME/crash crash an actor."),
    ],
    "Logs": [
        Flag(
            "--logging-format",
            FORMAT,
            "How log lines look.",
            "logging.format",
            default_is=defaults.LOGGING_FORMAT,
        ),
        Flag(
            "-v, --v",
            NUMBER,
            "The higher, the more is logged.",
            "logging.verbosity",
            default_is=defaults.VERBOSITY,
        ),
    ],
}

FLAGS: Sequence[Flag] = [flag for flags in SECTIONS.values() for flag in flags]

SWITCHES = frozenset(name for flag in FLAGS if flag.type is SWITCH for name in flag.opts)
VALUED = frozenset(name for flag in FLAGS if flag.type is not SWITCH for name in flag.opts)

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
    help="Decides which pods this node should run, and carries them through their lives: in containers, "
    "by a Python class of yours, or so that they seem to run. A Kubernetes node agent made of actors.",
    epilog="Any other flag of a kubelet is taken too, and a warning says that it has no effect. "
    "Docs: README.md and docs/. Wrong usage exits with 2, what the machine refuses with 1.",
    options_metavar="[FLAGS]",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # A kubelet reads --read_only_port as well.
        "token_normalize_func": lambda name: name.replace("_", "-"),
    },
)
