"""What settings can be: for each row values that are right, with what the agent has of them, and wrong ones.

Both sides of each bound are here. A new row needs a line in ``RIGHT`` if it is a field, one in ``TYPED`` if
it has a flag, and lines in ``WRONG`` if it is checked.
"""
# ruff: noqa: ISC004 - a sentence may take two lines

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from manifests.thresholds import DEFAULT_THRESHOLDS, PIDS_FREE, Threshold
from manifests.times import Span
from messages.units import Seconds
from settings.cluster import ChangeDetection

_PIDS: Final = {PIDS_FREE: DEFAULT_THRESHOLDS[PIDS_FREE]}
_TAINT: Final = {"key": "a", "effect": "NoExecute"}
_SUITES: Final = (
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305"
)
_TLS_13: Final = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
]

RIGHT: Final[dict[str, tuple[tuple[Any, Any], ...]]] = {
    "enableServer": ((False, False), (True, True)),
    "staticPodPath": (("/pods", Path("/pods")), ("", None)),
    "fileCheckFrequency": (("20s", 20.0), ("10ms", 0.01), ("0s", 2.0)),
    "staticPodURL": (("https://host:8080/x", "https://host:8080/x"), ("", "")),
    "staticPodURLHeader": (({"A": ["1", "2"], "B": []}, {"A": ("1", "2"), "B": ()}),),
    "httpCheckFrequency": (("5s", 5.0), ("0s", 20.0)),
    "address": (("127.0.0.2", "127.0.0.2"), ("::1", "::1"), ("", "0.0.0.0")),
    "readOnlyPort": ((0, 0), (65535, 65535)),
    "healthzBindAddress": (("127.0.0.2", "127.0.0.2"), ("", "127.0.0.1")),
    "healthzPort": ((0, 0), (1, 1)),
    "logging.format": (("json", "json"), ("text", "text"), ("", "text")),
    "logging.verbosity": ((0, 0), (4, 4), (2**32 - 1, 2**32 - 1)),
    "registerWithTaints": (([_TAINT], (_TAINT,)), ([], ())),
    "crashLoopBackOff.maxContainerRestartPeriod": (("1s", 1.0), ("90s", 90.0), ("5m", 300.0)),
    "maxPods": ((110, 110), (2**31 - 1, 2**31 - 1)),
    "podsPerCore": ((3, 3), (0, 0)),
    "systemReserved": (({"cpu": "100m", "memory": "1Gi"}, {"cpu": 100, "memory": 2**30}),),
    "kubeReserved": (({"cpu": "0.25", "pid": "0"}, {"cpu": 250, "pid": 0}),),
    "evictionHard": (
        (
            {"imagefs.available": "0%", "pid.available": "10", "nodefs.available": "100%"},
            {
                "imagefs.available": Threshold(share=0.0),
                "pid.available": Threshold(amount=10),
                "nodefs.available": Threshold(share=1.0),
            },
        ),
        ({}, DEFAULT_THRESHOLDS),
    ),
    "mergeDefaultEvictionSettings": ((True, True),),
    "podCIDR": (
        ("10.1.0.0/16", ("10.1.0.0/16",)),
        ("10.1.2.3/16, fd00::/64", ("10.1.0.0/16", "fd00::/64")),
        ("", ()),
    ),
    "registerNode": ((False, False),),
    "syncFrequency": (("10s", 10.0), ("0s", 60.0)),
    "configMapAndSecretChangeDetectionStrategy": (
        ("", ChangeDetection.WATCH),
        ("Watch", ChangeDetection.WATCH),
        ("Cache", ChangeDetection.CACHE),
        ("Get", ChangeDetection.GET),
    ),
    "kubeAPIQPS": ((9, 9), (-1, -1), (0, 50)),
    "kubeAPIBurst": ((9, 9), (0, 100)),
    "eventRecordQPS": ((5, 5), (0, 0)),
    "eventBurst": ((10, 10), (0, 100)),
    "nodeStatusUpdateFrequency": (("3s", 3.0), ("0s", 10.0)),
    "nodeStatusReportFrequency": (("3m", 180.0), ("0s", 300.0)),
    "nodeLeaseDurationSeconds": ((20, 20.0), (0, 40.0)),
    "enableControllerAttachDetach": ((False, False),),
    "containerRuntimeEndpoint": (
        ("unix:///run/x", Path("/run/x")),
        ("/" + 106 * "a", Path("/" + 106 * "a")),
        ("", None),
    ),
    "imageServiceEndpoint": (("/run/y", Path("/run/y")), ("", None)),
    "clusterDNS": ((["10.0.0.10", "fd00::a"], ("10.0.0.10", "fd00::a")), ([], ())),
    "clusterDomain": (("cluster.local", "cluster.local"), ("a.", "a."), ("", "")),
    "resolvConf": (("/x", "/x"), ("", "")),
    "seccompDefault": ((True, True),),
    "allowedUnsafeSysctls": ((["kernel.msg*"], ("kernel.msg*",)),),
    "cgroupsPerQOS": ((True, True),),
    "cgroupRoot": (("/kube", "/kube"), ("", "/")),
    "cgroupDriver": (("systemd", "systemd"), ("cgroupfs", "cgroupfs")),
    "podPidsLimit": ((-1, -1), (0, 0), (512, 512)),
    "cpuCFSQuota": ((False, False),),
    "cpuCFSQuotaPeriod": (("1ms", 0.001), ("1s", 1.0), ("0s", 0.1)),
    "singleProcessOOMKill": ((True, True), (False, False)),
    "enforceNodeAllocatable": ((["none"], {"none"}), (["pods"], {"pods"}), ([], set())),
    "podLogsDir": (("/a", Path("/a")),),
    "containerLogMaxSize": (("1Mi", 2**20), ("1", 1), ("-1", -1)),
    "containerLogMaxFiles": ((2, 2),),
    "containerLogMaxWorkers": ((1, 1), (4, 4), (0, 1)),
    "containerLogMonitorInterval": (("3s", 3.0), ("0s", 10.0)),
    "serializeImagePulls": ((True, True), (False, False)),
    "maxParallelImagePulls": ((1, 1), (4, 4)),
    "registryPullQPS": ((0, 0), (7, 7)),
    "registryBurst": ((0, 0), (7, 7)),
    "imageGCHighThresholdPercent": ((81, 81), (100, 100)),
    "imageGCLowThresholdPercent": ((0, 0), (84, 84)),
    "imageMinimumGCAge": (("1m", 60.0), ("0s", 120.0)),
    "imageMaximumGCAge": (("121s", 121.0), ("0s", 0.0)),
    "imagePullCredentialsVerificationPolicy": (("AlwaysVerify", "AlwaysVerify"),),
    "preloadedImagesVerificationAllowlist": (([], ()),),
    "userNamespaces.idsPerPod": ((65536, 65536), (2**20, 2**20), (0, 65536)),
    "port": ((0, 0), (1, 1), (65535, 65535)),
    "tlsCertFile": (("", None),),
    "tlsPrivateKeyFile": (("", None),),
    "tlsMinVersion": (
        ("", "TLSv1_2"),
        ("VersionTLS12", "TLSv1_2"),
        ("VersionTLS13", "TLSv1_3"),
    ),
    "tlsCipherSuites": (
        ([], _SUITES),
        (["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], "ECDHE-RSA-AES128-GCM-SHA256"),
        (_TLS_13, _SUITES),
    ),
    "authentication.x509.clientCAFile": (("/ca", Path("/ca")), ("", None)),
    "authentication.anonymous.enabled": ((True, True), (False, False)),
    "authentication.webhook.enabled": ((True, True), (False, False)),
    "authentication.webhook.cacheTTL": (("1s", 1.0), ("0s", 120.0)),
    "authorization.mode": (("AlwaysAllow", True), ("Webhook", False), ("", False)),
    "authorization.webhook.cacheAuthorizedTTL": (("1s", 1.0), ("0s", 300.0)),
    "authorization.webhook.cacheUnauthorizedTTL": (("1s", 1.0), ("0s", 30.0)),
    "enableDebuggingHandlers": ((True, True), (False, False)),
}
"""Values of fields, and what the agent has then."""

TYPED: Final[tuple[tuple[str, Any], ...]] = (
    ("--config=c", Path("c")),
    ("--config-dir=d", Path("d")),
    ("--root-dir=r", Path("r")),
    ("--hostname-override=Web.Example.COM ", "web.example.com"),
    ("--pod-manifest-path=p", Path("p")),
    ("--pod-manifest-path=", None),
    ("--file-check-frequency=90s", 90.0),
    ("--file-check-frequency=0", 2.0),
    ("--local-objects-dir=l", Path("l")),
    ("--strict-manifests", True),
    ("--strict-manifests=F", False),
    ("--strict_manifests=1", True),
    ("--clear-on-missing-path", True),
    ("--manifest-url=http://x", "http://x"),
    ("--manifest-url-header=A:1, B : x:y", {"A": ("1",), "B": ("x:y",)}),
    ("--manifest-url-ca-file=ca", Path("ca")),
    ("--http-check-frequency=1s", 1.0),
    ("--kubeconfig=k", Path("k")),
    ("--in-cluster", True),
    ("--standalone", True),
    ("--register-node=false", False),
    ("--node-ip=10.0.0.4,::1", ("10.0.0.4", "::1")),
    ("--kube-api-qps=9", 9),
    ("--kube-api-burst=9", 9),
    ("--event-qps=0", 0),
    ("--event-burst=9", 9),
    ("--node-status-update-frequency=3s", 3.0),
    ("--enable-controller-attach-detach=false", False),
    ("--sync-frequency=2m", 120.0),
    ("--runtime=hollow", "hollow"),
    ("--change-runtime", True),
    ("--hollow-capacity=cpu=32,pods=10k,hugepages-2Mi=4Mi,example.com/gpu=8",
     {"cpu": 32_000, "pods": 10_000, "hugepages-2Mi": 2**22, "example.com/gpu": 8}),
    ("--hollow-times=time-to-pull=2s-5s, run-for=1m,",
     {"time-to-pull": Span(Seconds(2.0), Seconds(5.0)), "run-for": Span(Seconds(60.0), Seconds(60.0))}),
    ("--hollow-seed=a", "a"),
    ("--hollow-records", True),
    ("--hollow-volumes", True),
    ("--force-hollow", True),
    ("--pod-cidr=10.1.0.0/16", ("10.1.0.0/16",)),
    ("--container-runtime-endpoint=/c.sock", Path("/c.sock")),
    ("--image-service-endpoint=/i.sock", Path("/i.sock")),
    ("--cluster-dns=10.0.0.10, fd00::a", ("10.0.0.10", "fd00::a")),
    ("--cluster-domain=cluster.local", "cluster.local"),
    ("--resolv-conf=", ""),
    ("--cgroup-driver=systemd", "systemd"),
    ("--cgroup-root=/pods", "/pods"),
    ("--cgroups-per-qos=true", True),
    ("--enforce-node-allocatable=none", {"none"}),
    ("--enforce-node-allocatable=", set()),
    ("--pod-max-pids=-1", -1),
    ("--pod-max-pids=512", 512),
    ("--cpu-cfs-quota=false", False),
    ("--cpu-cfs-quota-period=5ms", 0.005),
    ("--seccomp-default", True),
    ("--allowed-unsafe-sysctls=kernel.msg*,net.a", ("kernel.msg*", "net.a")),
    ("--container-log-max-size=1Mi", 2**20),
    ("--container-log-max-files=3", 3),
    ("--serialize-image-pulls=false", False),
    ("--registry-qps=0", 0),
    ("--registry-burst=7", 7),
    ("--image-gc-high-threshold=90", 90),
    ("--image-gc-low-threshold=60", 60),
    ("--minimum-image-ttl-duration=1m", 60.0),
    ("--adopt-static-pods", True),
    ("--node-labels=a=b,c=", {"a": "b", "c": ""}),
    ("--node-labels=zone=a,zone=a", {"zone": "a"}),
    ("--register-with-taints=a=b:NoSchedule,c:NoExecute",
     ({"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"})),
    ("--max-pods=5", 5),
    ("--pods-per-core=4", 4),
    ("--system-reserved=cpu=100m", {"cpu": 100}),
    ("--kube-reserved=memory=1Ki", {"memory": 1024}),
    ("--eviction-hard=memory.available<1Gi,nodefs.available<7.5%",
     {**_PIDS, "memory.available": Threshold(amount=2**30), "nodefs.available": Threshold(share=0.075)}),
    ("--eviction-hard=", DEFAULT_THRESHOLDS),
    ("--validate=m", Path("m")),
    ("--explain-takeover", True),
    ("--output=json", "json"),
    ("-ojson", "json"),
    ("--address=::1", "::1"),
    ("--read-only-port=0", 0),
    ("--read_only_port=7", 7),
    ("--healthz-bind-address=127.0.0.2", "127.0.0.2"),
    ("--healthz-port=65535", 65535),
    ("--allow-non-loopback", True),
    ("--allow-host=Tools.Example.", {"tools.example", "node-1", "127.0.0.1"}),
    ("--allow-host=[2001:db8::7]", {"2001:db8::7", "node-1", "127.0.0.1"}),
    ("--enable-server=false", False),
    ("--enable-chaos", True),
    ("--logging-format=json", "json"),
    ("--v=4", 4),
    ("-v4", 4),
    ("--port=10251", 10251),
    ("--cert-dir=pki", Path("pki")),
    ("--tls-min-version=VersionTLS13", "TLSv1_3"),
    ("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305, "
     "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
     "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384"),
    ("--client-ca-file=ca", Path("ca")),
    ("--anonymous-auth", True),
    ("--authentication-token-webhook=false", False),
    ("--authentication-token-webhook-cache-ttl=1m", 60.0),
    ("--authorization-mode=AlwaysAllow", True),
    ("--authorization-webhook-cache-authorized-ttl=1m", 60.0),
    ("--authorization-webhook-cache-unauthorized-ttl=1m", 60.0),
    ("--enable-debugging-handlers=false", False),
)  # fmt: skip
"""Flags, and what the agent has then."""
NEED_EACH_OTHER: Final = {
    "--image-credential-provider-config",
    "--image-credential-provider-bin-dir",
    "tlsCertFile",
    "tlsPrivateKeyFile",
}

_URL: Final = "should be an http or https URL with a host"
_WAIT: Final = "should be from 1s to 5m"
_NETWORK: Final = "should be a network, such as 10.244.0.0/16"
_BELOW_ROOT: Final = "should be an absolute path below /"
_PATH: Final = "must be an absolute path of plain names, not"
_GC: Final = (
    "imageGCLowThresholdPercent should be below imageGCHighThresholdPercent, both from 0 to 100"
)
_PULLS: Final = "registryPullQPS and registryBurst should be at least 0"
_AGES: Final = "imageMinimumGCAge and imageMaximumGCAge should be at least 0"
_LONGER: Final = "imageMaximumGCAge should be longer than imageMinimumGCAge"
_NAMES: Final = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
)
_IDS: Final = "should be a multiple of 65536, up to 1048576"
_SOCKET: Final = "should be unix:// with an absolute path"
_REPOSITORY: Final = (
    "which should be the full name of a repository, such as docker.io/library/busybox, or end in /* for all "
    "below it"
)

WRONG: Final[tuple[tuple[str, Any, str], ...]] = (
    *(("staticPodURL", url, f"staticPodURL {_URL}")
      for url in ("hunter2", "ftp://hunter2/x", "http:///hunter2", "http://[hunter2")),
    ("healthzBindAddress", "0.0.0.0",
     "healthzPort on 0.0.0.0 would answer anybody who can reach this machine: take a loopback address, set "
     "healthzPort to 0, or insist with --allow-non-loopback"),
    ("registerWithTaints", [{"key": "a", "effect": "Never"}],
     "registerWithTaints has the taint 'a' with the effect 'Never', which should be NoSchedule, "
     "PreferNoSchedule or NoExecute"),
    *(("crashLoopBackOff.maxContainerRestartPeriod", wait,
       f"crashLoopBackOff.maxContainerRestartPeriod {_WAIT}") for wait in ("0s", "999ms", "301s")),
    ("systemReserved", {"cpu": "much"},
     "systemReserved has 'much' for cpu, which should be an amount such as 500m or 2Gi"),
    ("kubeReserved", {"memory": "-1"},
     "kubeReserved has '-1' for memory, which should be an amount such as 500m or 2Gi"),
    ("kubeReserved", {"gpu": "1"},
     "kubeReserved has 'gpu'; what can be reserved is cpu, ephemeral-storage, memory, pid"),
    ("evictionHard", {"memory.available": "101%"},
     "evictionHard has '101%' for memory.available, which should be an amount such as 100Mi or a share "
     "such as 10%"),
    ("evictionHard", {"memory.free": "1Gi"}, "evictionHard has 'memory.free', which no kubelet looks at"),
    *(("podCIDR", text, f"podCIDR {_NETWORK}") for text in ("10.1.0.0/33", "pods", "10.1.0.0/16,")),
    ("podCIDR", "10.1.0.0/16,10.2.0.0/16", "podCIDR should be one network, or one of each family"),
    ("eventRecordQPS", -1, "eventRecordQPS -1 should be at least 0"),
    ("eventBurst", -1, "eventBurst -1 should be at least 0"),
    *(("containerRuntimeEndpoint", text, f"containerRuntimeEndpoint {text!r} {_SOCKET}")
      for text in ("tcp://127.0.0.1:1", "unix://host/a", "a/b")),
    ("containerRuntimeEndpoint", "/" + 107 * "a",
     "containerRuntimeEndpoint is longer than 107 bytes, which no socket's path can be"),
    ("containerRuntimeEndpoint", "/a\nb",
     "containerRuntimeEndpoint '/a\\nb' has characters that no path here may have"),
    ("imageServiceEndpoint", "tcp://a:1", f"imageServiceEndpoint 'tcp://a:1' {_SOCKET}"),
    ("clusterDNS", ["dns"], "clusterDNS 'dns' should be an IP address"),
    *(("clusterDomain", text, f"clusterDomain {text[:64]!r} should be a domain in lower case")
      for text in ("Cluster_", "a..b", "a." * 126 + "aa")),
    ("resolvConf", "/a\0b", "resolvConf '/a\\x00b' has characters that no path here may have"),
    ("cgroupDriver", "docker", "cgroupDriver 'docker' should be cgroupfs or systemd"),
    ("cgroupDriver", "", "cgroupDriver '' should be cgroupfs or systemd"),
    *(("cgroupRoot", text, f"cgroupRoot {_PATH} {text!r}") for text in ("a b", "/a/../b")),
    ("cgroupsPerQOS", False,
     "enforceNodeAllocatable needs cgroupsPerQOS: without it there is no cgroup of all pods"),
    ("enforceNodeAllocatable", ["none", "pods"],
     "enforceNodeAllocatable has none, and something else beside it"),
    ("enforceNodeAllocatable", ["pods", "system-reserved"],
     "enforceNodeAllocatable: system-reserved is not supported: only pods are held to their share"),
    ("podPidsLimit", -2, "podPidsLimit -2 should be a number of processes, or -1 for any"),
    ("cpuCFSQuotaPeriod", "999us", "cpuCFSQuotaPeriod must be from 1ms to 1s, not 0.000999 s"),
    ("cpuCFSQuotaPeriod", "1001ms", "cpuCFSQuotaPeriod must be from 1ms to 1s, not 1.001 s"),
    *(("podLogsDir", text, f"podLogsDir {text!r} {_BELOW_ROOT}") for text in ("logs", "/", "/a/../b", "")),
    ("podLogsDir", "/a\nb", "podLogsDir '/a\\nb' has characters that no path here may have"),
    ("containerLogMaxSize", "big", "containerLogMaxSize 'big' should be a quantity, such as 10Mi"),
    ("containerLogMaxSize", "0",
     "containerLogMaxSize '0' should be more than nothing, or below it for no rotation"),
    ("containerLogMaxFiles", 1,
     "containerLogMaxFiles 1 should be at least 2: the log and one that was rotated"),
    ("containerLogMaxWorkers", -1, "containerLogMaxWorkers -1 should be at least 1"),
    ("containerLogMonitorInterval", "2999ms", "containerLogMonitorInterval should be at least 3s"),
    ("maxParallelImagePulls", 0, "maxParallelImagePulls 0 should be at least 1"),
    ("registryPullQPS", -1, _PULLS),
    ("registryBurst", -1, _PULLS),
    ("imageGCHighThresholdPercent", 80, _GC),
    ("imageGCHighThresholdPercent", 101, _GC),
    ("imageGCLowThresholdPercent", 85, _GC),
    ("imageGCLowThresholdPercent", -1, _GC),
    ("imageMinimumGCAge", "-1s", _AGES),
    ("imageMaximumGCAge", "-1s", _AGES),
    ("imageMaximumGCAge", "1s", _LONGER),
    ("imageMaximumGCAge", "2m", _LONGER),
    ("imagePullCredentialsVerificationPolicy", "Maybe",
     "imagePullCredentialsVerificationPolicy should be one of NeverVerify, NeverVerifyPreloadedImages, "
     "NeverVerifyAllowlistedImages, AlwaysVerify"),
    ("preloadedImagesVerificationAllowlist", ["quay.io/a"],
     "preloadedImagesVerificationAllowlist has an effect only with imagePullCredentialsVerificationPolicy "
     "NeverVerifyAllowlistedImages"),
    *(("preloadedImagesVerificationAllowlist", [text],
       f"preloadedImagesVerificationAllowlist has {text!r}, {_REPOSITORY}")
      for text in ("", "*", "/*", "busybox", "quay.io/team/app:1", "quay.io/*/app", "quay.io/team/a*")),
    *(("userNamespaces.idsPerPod", ids, f"userNamespaces.idsPerPod {ids} {_IDS}")
      for ids in (65537, 2**20 + 65536, -65536)),
    ("tlsCertFile", "/c", "tlsCertFile has no effect without tlsPrivateKeyFile"),
    ("tlsPrivateKeyFile", "/k", "tlsPrivateKeyFile has no effect without tlsCertFile"),
    *(("tlsMinVersion", text, "tlsMinVersion should be VersionTLS12 or VersionTLS13")
      for text in ("VersionTLS11", "1.2", "versiontls12")),
    *(("tlsCipherSuites", [*_TLS_13, text], f"tlsCipherSuites {text!r} should be one of {_NAMES}")
      for text in ("TLS_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "")),
)  # fmt: skip
"""Values of fields whose type is right, and what is said of them."""

_AMOUNT: Final = "should be name=amount,name=amount"
MISTYPED: Final[tuple[tuple[str, str], ...]] = (
    ("--read-only-port=65536", "should be a port from 0 to 65535; 0 is off"),
    ("--port=65536", "should be a port from 0 to 65535; 0 is off"),
    ("--anonymous-auth=maybe", "should be true or false"),
    ("--authorization-mode=RBAC", "should be Webhook or AlwaysAllow"),
    ("--healthz-port=x", "should be a whole number from 0 on"),
    ("--healthz-port=-1", "should be a whole number from 0 on"),
    ("--max-pods=2147483648", "should be a whole number from 0 on"),
    ("-v=\u0661", "should be a whole number from 0 on"),
    ("--pod-max-pids=many", "should be a whole number"),
    ("--registry-qps=1.5", "should be a whole number"),
    ("--file-check-frequency=20", "should be a duration such as 20s, 1m30s or 300ms"),
    ("--file-check-frequency=9ms", "should be at least 10ms"),
    ("--cpu-cfs-quota-period=x", "should be a duration such as 20s, 1m30s or 300ms"),
    ("--address=localhost", "should be an IP address"),
    ("--node-ip=host", "should be an IP address"),
    ("--allow-host=a:1", "should be the name of a host or an IP address, without a port"),
    ("--logging-format=xml", "should be text or json"),
    ("--standalone=maybe", "should be true or false"),
    ("--cpu-cfs-quota=no", "should be true or false"),
    ("--validate=", "should be a path"),
    ("--register-with-taints=a", "should be key=value:Effect,key:Effect"),
    ("--node-labels=a", "should be name=value,name=value"),
    ("--node-labels=zone=a,zone=b", "has two values for 'zone'"),
    ("--hollow-capacity=cpu", _AMOUNT),
    ("--hollow-capacity=cpu=1,cpu=2", "has two values for 'cpu'"),
    ("--system-reserved==1", _AMOUNT),
    ("--system-reserved=memory=1Gi,memory=2Gi", "has two values for 'memory'"),
    ("--eviction-hard=x", "should be signal<amount,signal<share%"),
    ("--eviction-hard=memory.available<1Gi,memory.available<2Gi",
     "has two values for 'memory.available'"),
    ("--manifest-url-header=hunter2", "should be name:value,name:value"),
    ("--manifest-url-header=:hunter2", "should be name:value,name:value"),
    ("--hollow-times=exits=1",
     "should be NAME=DURATION,... where NAME is one of time-to-create-sandbox, time-to-pull, "
     "time-to-create, time-to-start, time-to-stop, run-for"),
    ("--hollow-times=run-for",
     "run-for should be a duration such as 300ms, or a range such as 1s-5s"),
    ("--hollow-times=run-for=5s-1s",
     "run-for should be a range from the shorter to the longer duration"),
    ("--hollow-times=run-for=87601h", "run-for should be at most 87600h"),
    ("--hollow-times=run-for=1s,time-to-pull=1s,run-for=2s", "has two values for 'run-for'"),
)  # fmt: skip
"""Flags that cannot be read, and what is said of them."""

REFUSED: Final[tuple[tuple[str, str], ...]] = (
    ("--hollow-capacity=pods=1.5", "has '1.5' for pods, which should be a whole number"),
    ("--hollow-capacity=example.com/gpu=500m",
     "has '500m' for example.com/gpu, which should be a whole number"),
    ("--hollow-capacity=cpu=1x", "has '1x' for cpu, which should be an amount such as 500m or 2Gi"),
    ("--hollow-capacity=cores=1",
     "has 'cores'; a hollow node has cpu, memory, ephemeral-storage, pods, hugepages-SIZE, and resources "
     "with a domain such as example.com/gpu"),
    ("--node-labels=a/b/c=d",
     "has the label 'a/b/c', whose name or value "),
)  # fmt: skip
"""Flags that stand for no field, whose values are none, and what is said of them."""
