"""What the agent is told of real containers: fields of a KubeletConfiguration, under their own names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from manifests.image_names import parse_image_name
from manifests.quantities import amount, is_quantity
from messages.cgroup_roots import is_root
from messages.units import Seconds
from settings.addresses import printable
from settings.checks import at_least, between, no_shorter_than, one_of
from settings.errors import UsageError
from settings.kinds import DURATION, ENDPOINT, INTEGER, LIST, LONG, NUMBER, PATH, SWITCH, TEXT
from settings.rows import Section, ToldValues, row
from settings.situation import Where

DRIVERS: Final = ("cgroupfs", "systemd")
ALLOWLISTED: Final = "NeverVerifyAllowlistedImages"
POLICIES: Final = ("NeverVerify", "NeverVerifyPreloadedImages", ALLOWLISTED, "AlwaysVerify")
"""Who may have an image that is there already: a kubelet's words."""
MOST_SERIAL: Final = 2
"""Pulls at the same time from which on they are not serial."""
IDS_OF_POD: Final = 65536
"""User ids of a pod are a multiple of these, as in a kubelet."""
MOST_IDS_OF_POD: Final = 2**20
LONGEST_DOMAIN: Final = 253
_DOMAIN_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PODS: Final = "pods"
_NOTHING: Final = "none"


def _name_servers(addresses: Sequence[str]) -> tuple[str, ...]:
    for address in addresses:
        try:
            ip_address(address)
        except ValueError:
            raise ValueError(f"{address[:64]!r} should be an IP address") from None
    return tuple(addresses)


def _domain(domain: str) -> str:
    labels = domain.removesuffix(".").split(".")
    is_good = len(domain) <= LONGEST_DOMAIN and all(map(_DOMAIN_LABEL.fullmatch, labels))
    if domain and not is_good:
        raise ValueError(f"{domain[:64]!r} should be a domain in lower case")
    return domain


def _cgroup_root(root: str) -> str:
    if not is_root(root):
        raise ValueError(f"must be an absolute path of plain names, not {root[:256]!r}")
    return root


def _folder_of_logs(path: str) -> Path:
    if not path.startswith("/") or ".." in path.split("/") or not path.strip("/"):
        raise ValueError(f"{path[:128]!r} should be an absolute path below /")
    return Path(printable(path))


def _size(text: str) -> int:
    if not is_quantity(text):
        raise ValueError(f"{text[:32]!r} should be a quantity, such as 10Mi")
    if int(amount(text)) == 0:
        raise ValueError(f"{text[:32]!r} should be more than nothing, or below it for no rotation")
    return int(amount(text))


def _ids_of_pod(ids: int) -> int:
    if ids % IDS_OF_POD or not IDS_OF_POD <= ids <= MOST_IDS_OF_POD:
        raise ValueError(f"{ids} should be a multiple of {IDS_OF_POD}, up to {MOST_IDS_OF_POD}")
    return ids


def _repositories(patterns: Sequence[str]) -> tuple[str, ...]:
    """Refuse what no repository's full name can be: it would match nothing, and nobody would know why."""
    for pattern in patterns:
        name = f"{pattern[:-1]}a/a" if pattern.endswith("/*") else pattern
        image = parse_image_name(name)
        if image is None or image.repository != name:
            raise ValueError(
                f"has {pattern[:128]!r}, which should be the full name of a repository, such as "
                "docker.io/library/busybox, or end in /* for all below it"
            )
    return tuple(patterns)


def _serializes_pulls(told: ToldValues) -> bool:
    """Return whether images are pulled one after the other: who names a number of pulls wants that many."""
    if "serializeImagePulls" in told.given:
        return bool(told["serializeImagePulls"])
    return "maxParallelImagePulls" not in told.given or told["maxParallelImagePulls"] < MOST_SERIAL


def _image_endpoint(told: ToldValues) -> str:
    return told["imageServiceEndpoint"] or told["containerRuntimeEndpoint"] or ""


_row = partial(row, section=Section.CONTAINERS, where=Where.CONTAINERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """How containers are run by a container runtime. Sizes are in bytes."""

    container_runtime_endpoint: Path | None = _row(
        ENDPOINT,
        "containerRuntimeEndpoint",
        flag="--container-runtime-endpoint",
        says="Socket of the container runtime",
        default_says="containerd's or CRI-O's, whichever is there",
        more="configuration.md#what-runs-pods",
    )
    """The socket of the runtime. None where nobody has named one: it is looked for."""
    image_service_endpoint: Path | None = _row(
        ENDPOINT,
        "imageServiceEndpoint",
        flag="--image-service-endpoint",
        says="Socket for images",
        default_says="the same",
        derive=_image_endpoint,
    )
    cluster_dns: tuple[str, ...] = _row(
        LIST, "clusterDNS", flag="--cluster-dns", says="Name servers of pods", settle=_name_servers
    )
    cluster_domain: str = _row(
        TEXT, "clusterDomain", flag="--cluster-domain", says="Domain of the cluster", settle=_domain
    )
    resolv_conf: str = _row(
        TEXT,
        "resolvConf",
        "/etc/resolv.conf",
        flag="--resolv-conf",
        says="The node's own name servers; empty for none",
        settle=printable,
    )
    cgroup_driver: str = _row(
        TEXT,
        "cgroupDriver",
        "cgroupfs",
        flag="--cgroup-driver",
        says="cgroupfs or systemd, as the runtime has it",
        settle=one_of(DRIVERS, "{} should be cgroupfs or systemd"),
    )
    cgroup_root: str = _row(
        TEXT,
        "cgroupRoot",
        "/",
        flag="--cgroup-root",
        says="The cgroup that those of pods are made in",
        default_says="",
        zero_is_default=True,
        settle=_cgroup_root,
    )
    cgroups_per_qos: bool = _row(
        SWITCH,
        "cgroupsPerQOS",
        default=True,
        flag="--cgroups-per-qos",
        says="Let pods have cgroups of their own",
    )
    enforce_node_allocatable: frozenset[str] = _row(
        LIST,
        "enforceNodeAllocatable",
        [_PODS],
        flag="--enforce-node-allocatable",
        says="What is held to its share: pods, or none",
        settle=frozenset,
    )
    pod_pids_limit: int = _row(
        LONG,
        "podPidsLimit",
        -1,
        flag="--pod-max-pids",
        says="Processes of a pod; -1 for any",
        settle=between(-1, 2**63, "{} should be a number of processes, or -1 for any"),
    )
    cpu_cfs_quota: bool = _row(
        SWITCH,
        "cpuCFSQuota",
        default=True,
        flag="--cpu-cfs-quota",
        says="Enforce limits of cpu",
    )
    cpu_cfs_quota_period: Seconds = _row(
        DURATION,
        "cpuCFSQuotaPeriod",
        0.1,
        flag="--cpu-cfs-quota-period",
        says="The time that a limit of cpu is for",
        zero_is_default=True,
        # The Linux kernel takes no other ones.
        settle=between(0.001, 1.0, "must be from 1ms to 1s, not {} s"),
    )
    single_process_oom_kill: bool | None = _row(
        SWITCH,
        "singleProcessOOMKill",
        says="Whether a process that is out of memory dies alone; by default so under cgroup v1",
        none_if_unset=True,
    )
    """None where nothing was said: it depends on the version of cgroups."""
    seccomp_default: bool = _row(
        SWITCH,
        "seccompDefault",
        flag="--seccomp-default",
        says="Use the runtime's seccomp profile where a pod names none",
    )
    allowed_unsafe_sysctls: tuple[str, ...] = _row(
        LIST,
        "allowedUnsafeSysctls",
        flag="--allowed-unsafe-sysctls",
        says="Sysctls, or patterns ending in *, that pods may set",
    )
    ids_per_pod: int = _row(
        LONG,
        "userNamespaces.idsPerPod",
        IDS_OF_POD,
        says="User ids of a pod with users of its own: a multiple of 65536, up to 1048576",
        more="containers.md#users-of-their-own",
        zero_is_default=True,
        settle=_ids_of_pod,
    )

    pod_logs_dir: Path = _row(
        TEXT,
        "podLogsDir",
        "/var/log/pods",
        says="Where the logs of containers are",
        settle=_folder_of_logs,
    )
    container_log_max_size: int = _row(
        TEXT,
        "containerLogMaxSize",
        "10Mi",
        flag="--container-log-max-size",
        says="Size at which logs are rotated",
        more="containers.md",
        settle=_size,
    )
    container_log_max_files: int = _row(
        INTEGER,
        "containerLogMaxFiles",
        5,
        flag="--container-log-max-files",
        says="Files of one log",
        settle=at_least(2, ": the log and one that was rotated"),
    )
    container_log_max_workers: int = _row(
        INTEGER,
        "containerLogMaxWorkers",
        1,
        says="Logs that are rotated at the same time",
        zero_is_default=True,
        settle=at_least(1),
    )
    """Logs that are rotated, and so compressed, at the same time."""
    container_log_monitor_interval: Seconds = _row(
        DURATION,
        "containerLogMonitorInterval",
        10.0,
        says="Time between two looks at the sizes of logs, at least 3s",
        zero_is_default=True,
        settle=no_shorter_than(Seconds(3.0)),  # a kubelet takes no fewer either
    )

    serialize_image_pulls: bool = _row(
        SWITCH,
        "serializeImagePulls",
        default=True,
        flag="--serialize-image-pulls",
        says="Pull one image after the other",
        more="containers.md#images",
        derive=_serializes_pulls,
    )
    max_parallel_image_pulls: int | None = _row(
        INTEGER,
        "maxParallelImagePulls",
        1,
        says="Images that are pulled at the same time",
        none_if_unset=True,
        settle=at_least(1),
    )
    registry_pull_qps: int = _row(
        INTEGER,
        "registryPullQPS",
        5,
        flag="--registry-qps",
        says="Pulls a second; 0 for any",
    )
    registry_burst: int = _row(
        INTEGER, "registryBurst", 10, flag="--registry-burst", says="Pulls at once"
    )
    image_gc_high_threshold_percent: int = _row(
        NUMBER,
        "imageGCHighThresholdPercent",
        85,
        flag="--image-gc-high-threshold",
        says="Percent of the disk at which images are removed",
        more="containers.md#removing-images",
    )
    image_gc_low_threshold_percent: int = _row(
        NUMBER,
        "imageGCLowThresholdPercent",
        80,
        flag="--image-gc-low-threshold",
        says="Percent of the disk down to which images are removed",
    )
    image_minimum_gc_age: Seconds = _row(
        DURATION,
        "imageMinimumGCAge",
        120.0,
        flag="--minimum-image-ttl-duration",
        says="Age before which no image is removed",
        zero_is_default=True,
    )
    image_maximum_gc_age: Seconds = _row(
        DURATION,
        "imageMaximumGCAge",
        says="How long an image may be unused; 0s is for ever",
    )
    image_pull_credentials_verification_policy: str = _row(
        TEXT,
        "imagePullCredentialsVerificationPolicy",
        "NeverVerifyPreloadedImages",
        says="Who may have an image that is there already",
        more="containers.md#who-may-have-an-image",
        settle=one_of(POLICIES, f"should be one of {', '.join(POLICIES)}"),
    )
    preloaded_images_verification_allowlist: tuple[str, ...] = _row(
        LIST,
        "preloadedImagesVerificationAllowlist",
        says="Repositories whose images anybody may have",
        more="containers.md#who-may-have-an-image",
        settle=_repositories,
    )
    adopts_static_pods: bool = _row(
        SWITCH,
        flag="--adopt-static-pods",
        says="Keep static pods running that a kubelet started, under their UIDs",
        more="moving-from-a-kubelet.md",
    )
    """Static pods keep the UIDs under which a kubelet runs them."""
    image_credential_provider_config: Path | None = _row(
        PATH,
        flag="--image-credential-provider-config",
        says="Plugins that give credentials of registries: a file, or a directory of files",
        more="containers.md#credentials",
    )
    image_credential_provider_bin_dir: Path | None = _row(
        PATH,
        flag="--image-credential-provider-bin-dir",
        says="Where the programs of these plugins are",
    )


def check_containers(told: ToldValues, settings: ContainerSettings) -> None:
    """Raise ``UsageError`` for the first settings that do not go together."""
    _check_enforced(told["enforceNodeAllocatable"], settings)
    _check_pulls(settings)
    _check_garbage(told, settings)
    config, programs = (
        settings.image_credential_provider_config,
        settings.image_credential_provider_bin_dir,
    )
    if (config is None) != (programs is None):
        names = ("--image-credential-provider-config", "--image-credential-provider-bin-dir")
        raise UsageError(f"{' and '.join(names)} need each other", at=names[config is None])


def _check_enforced(enforced: Sequence[str], settings: ContainerSettings) -> None:
    name = "enforceNodeAllocatable"
    if _NOTHING in enforced and len(enforced) > 1:
        raise UsageError(f"{name} has none, and something else beside it", at=name)
    for each in sorted({*enforced} - {_PODS, _NOTHING}):
        raise UsageError(
            f"{name}: {each[:64]} is not supported: only pods are held to their share", at=name
        )
    if {*enforced} - {_NOTHING} and not settings.cgroups_per_qos:
        raise UsageError(
            f"{name} needs cgroupsPerQOS: without it there is no cgroup of all pods",
            at="cgroupsPerQOS",
        )


def _check_pulls(settings: ContainerSettings) -> None:
    at_most = settings.max_parallel_image_pulls or 1
    if settings.serialize_image_pulls and at_most > 1:
        name = "maxParallelImagePulls"
        raise UsageError(
            f"{name} {at_most} has no effect while serializeImagePulls is true", at=name
        )
    for name, number in (
        ("registryPullQPS", settings.registry_pull_qps),
        ("registryBurst", settings.registry_burst),
    ):
        if number < 0:
            raise UsageError("registryPullQPS and registryBurst should be at least 0", at=name)
    if (
        settings.preloaded_images_verification_allowlist
        and settings.image_pull_credentials_verification_policy != ALLOWLISTED
    ):
        raise UsageError(
            "preloadedImagesVerificationAllowlist has an effect only with "
            f"imagePullCredentialsVerificationPolicy {ALLOWLISTED}",
            at="preloadedImagesVerificationAllowlist",
        )


def _check_garbage(told: ToldValues, settings: ContainerSettings) -> None:
    low, high = settings.image_gc_low_threshold_percent, settings.image_gc_high_threshold_percent
    if not 0 <= low < high <= 100:
        names = ("imageGCLowThresholdPercent", "imageGCHighThresholdPercent")
        raise UsageError(
            f"{names[0]} should be below {names[1]}, both from 0 to 100",
            at=names[names[0] not in told.given],
        )
    shortest, longest = settings.image_minimum_gc_age, settings.image_maximum_gc_age
    for name, age in (("imageMinimumGCAge", shortest), ("imageMaximumGCAge", longest)):
        if age < 0:
            raise UsageError(
                "imageMinimumGCAge and imageMaximumGCAge should be at least 0", at=name
            )
    if 0 < longest <= shortest:
        raise UsageError(
            "imageMaximumGCAge should be longer than imageMinimumGCAge", at="imageMaximumGCAge"
        )
