"""The KubeletConfiguration file format, v1beta1: every field that a kubelet up to 1.36 knows, and its type.

Only the format: ``settings.load`` says which fields the agent obeys. The defaults of those are in
``settings.defaults``. A field that is not served has a kubelet's default, for one use: who sets it to that
changes nothing, and needs no warning.
"""
# ruff: noqa: N815, RUF012 - fields are called as in the file; pydantic copies a mutable default

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from settings import defaults
from settings.configuration.field_types import (
    Duration,
    FlushFrequency,
    Frequency,
    Int32,
    Int64,
    IpAddress,
    Part,
    Port,
    Quantity,
    UInt32,
)

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"


class X509Authentication(Part):
    """``authentication.x509``."""

    clientCAFile: str = ""


class WebhookAuthentication(Part):
    """``authentication.webhook``."""

    enabled: bool = True
    cacheTTL: Duration = 120.0


class AnonymousAuthentication(Part):
    """``authentication.anonymous``."""

    enabled: bool = False


class Authentication(Part):
    """``authentication``: who may ask the TLS server."""

    x509: X509Authentication = X509Authentication()
    webhook: WebhookAuthentication = WebhookAuthentication()
    anonymous: AnonymousAuthentication = AnonymousAuthentication()


class WebhookAuthorization(Part):
    """``authorization.webhook``."""

    cacheAuthorizedTTL: Duration = 300.0
    cacheUnauthorizedTTL: Duration = 30.0


class Authorization(Part):
    """``authorization``: what they may ask of it."""

    mode: str = "Webhook"
    webhook: WebhookAuthorization = WebhookAuthorization()


class OutputRouting(Part):
    """``logging.options.text`` and ``.json``."""

    splitStream: bool = False
    infoBufferSize: Quantity = "0"


class FormatOptions(Part):
    """``logging.options``."""

    text: OutputRouting = OutputRouting()
    json_: OutputRouting = Field(default=OutputRouting(), alias="json")


class VModuleItem(Part):
    """An entry of ``logging.vmodule``."""

    filePattern: str = ""
    verbosity: UInt32 = 0


class Logging(Part):
    """``logging``."""

    format: Literal["", "text", "json"] = defaults.LOGGING_FORMAT
    flushFrequency: FlushFrequency = 5.0
    verbosity: UInt32 = defaults.VERBOSITY
    vmodule: list[VModuleItem] = []
    options: FormatOptions = FormatOptions()


class MemorySwap(Part):
    """``memorySwap``."""

    swapBehavior: str = ""


class CrashLoopBackOff(Part):
    """``crashLoopBackOff``."""

    maxContainerRestartPeriod: Duration = 300.0


class MemoryReservation(Part):
    """An entry of ``reservedMemory``."""

    numaNode: Int32 = 0
    limits: dict[str, Quantity] = {}


class ShutdownGracePeriodByPodPriority(Part):
    """An entry of ``shutdownGracePeriodByPodPriority``."""

    priority: Int32 = 0
    shutdownGracePeriodSeconds: Int64 = 0


class Taint(Part):
    """An entry of ``registerWithTaints``."""

    key: str = ""
    value: str = ""
    effect: str = ""
    timeAdded: object = None


class Tracing(Part):
    """``tracing``."""

    endpoint: str = ""
    samplingRatePerMillion: Int32 = 0


class UserNamespaces(Part):
    """``userNamespaces``."""

    idsPerPod: Int64 = 65536


class KubeletConfiguration(Part):
    """The whole file. Durations are seconds here and Go's notation in the file."""

    apiVersion: str = API_VERSION
    kind: str = KIND

    enableServer: bool = defaults.ENABLE_SERVER
    staticPodPath: str = ""
    podLogsDir: str = "/var/log/pods"
    syncFrequency: Frequency = defaults.SYNC_FREQUENCY
    fileCheckFrequency: Frequency = defaults.FILE_CHECK_FREQUENCY
    httpCheckFrequency: Frequency = defaults.HTTP_CHECK_FREQUENCY
    staticPodURL: str = ""
    staticPodURLHeader: dict[str, list[str]] = {}
    address: IpAddress = defaults.ADDRESS
    port: Port = 10250
    readOnlyPort: Port = defaults.READ_ONLY_PORT
    tlsCertFile: str = ""
    tlsPrivateKeyFile: str = ""
    tlsCipherSuites: list[str] = []
    tlsCurvePreferences: list[Int32] = []
    tlsMinVersion: str = ""
    rotateCertificates: bool = False
    serverTLSBootstrap: bool = False
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()
    registryPullQPS: Int32 = 5
    registryBurst: Int32 = 10
    imagePullCredentialsVerificationPolicy: str = "NeverVerifyPreloadedImages"
    preloadedImagesVerificationAllowlist: list[str] = []
    eventRecordQPS: Int32 = defaults.EVENT_RECORD_QPS
    eventBurst: Int32 = defaults.EVENT_BURST
    enableDebuggingHandlers: bool = True
    enableContentionProfiling: bool = False
    healthzPort: Port = defaults.HEALTHZ_PORT
    healthzBindAddress: IpAddress = defaults.HEALTHZ_BIND_ADDRESS
    oomScoreAdj: Int32 = -999
    clusterDomain: str = ""
    clusterDNS: list[str] = []
    streamingConnectionIdleTimeout: Duration = 4 * 3600.0
    nodeStatusUpdateFrequency: Duration = defaults.NODE_STATUS_UPDATE_FREQUENCY
    nodeStatusReportFrequency: Duration = defaults.NODE_STATUS_REPORT_FREQUENCY
    nodeLeaseDurationSeconds: Int32 = defaults.NODE_LEASE_DURATION_SECONDS
    imageMinimumGCAge: Duration = 120.0
    imageMaximumGCAge: Duration = 0.0
    imageGCHighThresholdPercent: Int32 = 85
    imageGCLowThresholdPercent: Int32 = 80
    volumeStatsAggPeriod: Duration = 60.0
    kubeletCgroups: str = ""
    systemCgroups: str = ""
    cgroupRoot: str = ""
    cgroupsPerQOS: bool = True
    cgroupDriver: str = "cgroupfs"
    cpuManagerPolicy: str = "none"
    singleProcessOOMKill: bool = False
    cpuManagerPolicyOptions: dict[str, str] = {}
    cpuManagerReconcilePeriod: Duration = 10.0
    draManagerReconcilePeriod: Duration = 60.0
    memoryManagerPolicy: str = "None"
    topologyManagerPolicy: str = "none"
    topologyManagerScope: str = "container"
    topologyManagerPolicyOptions: dict[str, str] = {}
    qosReserved: dict[str, str] = {}
    runtimeRequestTimeout: Duration = 120.0
    hairpinMode: str = "promiscuous-bridge"
    maxPods: Annotated[Int32, Field(ge=0)] = defaults.MAX_PODS
    podCIDR: str = ""
    podPidsLimit: Int64 = -1
    resolvConf: str = "/etc/resolv.conf"
    runOnce: bool = False
    cpuCFSQuota: bool = True
    cpuCFSQuotaPeriod: Duration = 0.1
    nodeStatusMaxImages: Int32 = 50
    maxOpenFiles: Int64 = 1000000
    contentType: str = "application/vnd.kubernetes.protobuf"
    kubeAPIQPS: Int32 = defaults.KUBE_API_QPS
    kubeAPIBurst: Int32 = defaults.KUBE_API_BURST
    serializeImagePulls: bool = True
    maxParallelImagePulls: Int32 = 1
    evictionHard: dict[str, str] = {}
    evictionSoft: dict[str, str] = {}
    evictionSoftGracePeriod: dict[str, str] = {}
    evictionPressureTransitionPeriod: Duration = 300.0
    evictionMaxPodGracePeriod: Int32 = 0
    evictionMinimumReclaim: dict[str, str] = {}
    mergeDefaultEvictionSettings: bool = False
    podsPerCore: Annotated[Int32, Field(ge=0)] = 0
    enableControllerAttachDetach: bool = True
    protectKernelDefaults: bool = False
    makeIPTablesUtilChains: bool = True
    iptablesMasqueradeBit: Int32 = 14
    iptablesDropBit: Int32 = 15
    featureGates: dict[str, bool] = {}
    failSwapOn: bool = True
    memorySwap: MemorySwap = MemorySwap()
    containerLogMaxSize: str = "10Mi"
    containerLogMaxFiles: Int32 = 5
    containerLogMaxWorkers: Int32 = 1
    containerLogMonitorInterval: Duration = 10.0
    configMapAndSecretChangeDetectionStrategy: Literal["", "Get", "Cache", "Watch"] = (
        defaults.CHANGE_DETECTION
    )
    systemReserved: dict[str, str] = {}
    kubeReserved: dict[str, str] = {}
    reservedSystemCPUs: str = ""
    showHiddenMetricsForVersion: str = ""
    systemReservedCgroup: str = ""
    kubeReservedCgroup: str = ""
    enforceNodeAllocatable: list[str] = ["pods"]
    allowedUnsafeSysctls: list[str] = []
    volumePluginDir: str = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
    providerID: str = ""
    kernelMemcgNotification: bool = False
    logging: Logging = Logging()
    enableSystemLogHandler: bool = True
    enableSystemLogQuery: bool = False
    shutdownGracePeriod: Duration = 0.0
    shutdownGracePeriodCriticalPods: Duration = 0.0
    shutdownGracePeriodByPodPriority: list[ShutdownGracePeriodByPodPriority] = []
    crashLoopBackOff: CrashLoopBackOff = CrashLoopBackOff()
    reservedMemory: list[MemoryReservation] = []
    enableProfilingHandler: bool = True
    enableDebugFlagsHandler: bool = True
    seccompDefault: bool = False
    memoryThrottlingFactor: float = 0.9
    memoryReservationPolicy: str = "None"
    registerWithTaints: list[Taint] = []
    registerNode: bool = defaults.REGISTER_NODE
    tracing: Tracing = Tracing()
    localStorageCapacityIsolation: bool = True
    containerRuntimeEndpoint: str = ""
    imageServiceEndpoint: str = ""
    failCgroupV1: bool = True
    userNamespaces: UserNamespaces = UserNamespaces()
    podHousekeepingPeriod: Duration = 2.0
