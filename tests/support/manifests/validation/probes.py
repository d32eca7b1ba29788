"""Rule S15: probes and hooks."""

from __future__ import annotations

from tests.support.manifests.validation.rows import HTTP, C, Refused, Taken

BAD: list[Refused] = [
    (f"{C}.livenessProbe", {}, "one of exec, httpGet, tcpSocket, grpc is required"),
    (f"{C}.livenessProbe", HTTP | {"exec": {}}, "httpGet (line 1): cannot stand beside exec"),
    (f"{C}.livenessProbe", {"exec": {}}, "livenessProbe.exec.command (line 1): is required"),
    (f"{C}.livenessProbe", {"httpGet": {}}, "livenessProbe.httpGet.port (line 1): is required"),
    (f"{C}.livenessProbe", {"httpGet": {"port": 0}}, "must be between 1 and 65535"),
    (f"{C}.livenessProbe", {"httpGet": {"port": "A"}}, "httpGet.port"),
    (f"{C}.livenessProbe", {"httpGet": {"port": 1, "scheme": "ftp"}}, "must be HTTP or HTTPS"),
    (
        f"{C}.livenessProbe",
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b"}]}},
        "httpHeaders[0].name",
    ),
    (f"{C}.startupProbe", {"tcpSocket": {}}, "startupProbe.tcpSocket.port (line 1): is required"),
    (f"{C}.startupProbe", {"grpc": {}}, "startupProbe.grpc.port (line 1): is required"),
    (f"{C}.startupProbe", {"grpc": {"port": 70000}}, "must be between 1 and 65535"),
    (f"{C}.startupProbe", {"grpc": {"port": 1, "mode": "tls"}}, "must be TLS or Plaintext, not"),
    (f"{C}.livenessProbe", HTTP | {"initialDelaySeconds": -1}, "must be 0 or more, not -1"),
    (f"{C}.livenessProbe", HTTP | {"periodSeconds": -1}, "must be 1 or more, not -1"),
    (f"{C}.livenessProbe", HTTP | {"successThreshold": 2}, "must be 1 for liveness and startup"),
    (f"{C}.livenessProbe", HTTP | {"terminationGracePeriodSeconds": 0}, "must be 1 or more"),
    (f"{C}.readinessProbe", HTTP | {"terminationGracePeriodSeconds": 5}, "for readiness"),
    (f"{C}.lifecycle", {"preStop": {}}, "one of exec, httpGet, tcpSocket, sleep is required"),
    (f"{C}.lifecycle", {"preStop": {"sleep": {"seconds": 31}}}, "must be between 0 and 30"),
    (f"{C}.lifecycle", {"stopSignal": "SIGTERM"}, "needs spec.os.name"),
    (f"{C}.lifecycle", {"stopSignal": "15"}, "must be the name of a signal"),
    (f"{C}.lifecycle", {"stopSignal": "SIGFOO"}, "must be the name of a signal"),
    (f"{C}.lifecycle", {"stopSignal": "SIGRTMIN+16"}, "must be the name of a signal"),
]

FINE: list[Taken] = [
    (f"{C}.livenessProbe", {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 5}),
    (f"{C}.readinessProbe", {"tcpSocket": {"port": "http"}, "successThreshold": 3}),
    (f"{C}.startupProbe", {"grpc": {"port": 1}}),
    (f"{C}.startupProbe", {"grpc": {"port": 1, "mode": "TLS"}}),
    (
        f"{C}.livenessProbe",
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "X-A", "value": "b"}]}},
    ),
    (
        f"{C}.lifecycle",
        {"preStop": {"sleep": {"seconds": 30}}, "postStart": {"exec": {"command": ["a"]}}},
    ),
]

DOUBTFUL: list[Refused] = []
