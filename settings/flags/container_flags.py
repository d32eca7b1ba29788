"""The flags of real containers. Each stands for a field of the configuration, under a kubelet's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from settings.flags.flag import Flag
from settings.flags.kinds import DURATION, INTEGER, LIST, NUMBER, PATH, SWITCH, TEXT

OF_CONTAINERS: Final[Sequence[Flag]] = (
    Flag(
        "--container-runtime-endpoint",
        TEXT,
        "Socket of the container runtime [containerd's or CRI-O's, whichever is there].",
        "containerRuntimeEndpoint",
    ),
    Flag(
        "--image-service-endpoint",
        TEXT,
        "Socket for images [the same].",
        "imageServiceEndpoint",
    ),
    Flag("--cluster-dns", LIST, "Name servers of pods.", "clusterDNS"),
    Flag("--cluster-domain", TEXT, "Domain of the cluster.", "clusterDomain"),
    Flag(
        "--resolv-conf",
        TEXT,
        "The node's own name servers; empty for none.",
        "resolvConf",
        default_is="/etc/resolv.conf",
    ),
    Flag(
        "--cgroup-driver",
        TEXT,
        "cgroupfs or systemd, as the runtime has it.",
        "cgroupDriver",
        default_is="cgroupfs",
    ),
    Flag("--cgroup-root", TEXT, "The cgroup that those of pods are made in.", "cgroupRoot"),
    Flag(
        "--cgroups-per-qos",
        SWITCH,
        "Let pods have cgroups of their own.",
        "cgroupsPerQOS",
        default_is=True,
    ),
    Flag(
        "--enforce-node-allocatable",
        LIST,
        "What is held to its share: pods, or none.",
        "enforceNodeAllocatable",
        default_is="pods",
    ),
    Flag(
        "--pod-max-pids", INTEGER, "Processes of a pod; -1 for any.", "podPidsLimit", default_is=-1
    ),
    Flag("--cpu-cfs-quota", SWITCH, "Enforce limits of cpu.", "cpuCFSQuota", default_is=True),
    Flag(
        "--cpu-cfs-quota-period",
        DURATION,
        "The time that a limit of cpu is for.",
        "cpuCFSQuotaPeriod",
        default_is="100ms",
    ),
    Flag(
        "--seccomp-default",
        SWITCH,
        "Use the runtime's seccomp profile where a pod names none.",
        "seccompDefault",
    ),
    Flag(
        "--allowed-unsafe-sysctls",
        LIST,
        "Sysctls, or patterns ending in *, that pods may set.",
        "allowedUnsafeSysctls",
    ),
    Flag(
        "--container-log-max-size",
        TEXT,
        "Size at which logs are rotated.",
        "containerLogMaxSize",
        default_is="10Mi",
    ),
    Flag(
        "--container-log-max-files",
        INTEGER,
        "Files of one log.",
        "containerLogMaxFiles",
        default_is=5,
    ),
    Flag(
        "--serialize-image-pulls",
        SWITCH,
        "Pull one image after the other.",
        "serializeImagePulls",
        default_is=True,
    ),
    Flag("--registry-qps", INTEGER, "Pulls a second; 0 for any.", "registryPullQPS", default_is=5),
    Flag("--registry-burst", INTEGER, "Pulls at once.", "registryBurst", default_is=10),
    Flag(
        "--image-gc-high-threshold",
        NUMBER,
        "Percent of the disk at which images are removed.",
        "imageGCHighThresholdPercent",
        default_is=85,
    ),
    Flag(
        "--image-gc-low-threshold",
        NUMBER,
        "Percent of the disk down to which images are removed.",
        "imageGCLowThresholdPercent",
        default_is=80,
    ),
    Flag(
        "--minimum-image-ttl-duration",
        DURATION,
        "Age before which no image is removed.",
        "imageMinimumGCAge",
        default_is="2m",
    ),
    Flag(
        "--adopt-static-pods",
        SWITCH,
        "Keep static pods running that a kubelet started, under their UIDs.",
    ),
    Flag(
        "--image-credential-provider-config",
        PATH,
        "Plugins that give credentials of registries: a file, or a directory of files.",
    ),
    Flag("--image-credential-provider-bin-dir", PATH, "Where the programs of these plugins are."),
)
