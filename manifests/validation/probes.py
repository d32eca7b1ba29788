"""What the API server would refuse in probes, lifecycle hooks and their handlers."""

from __future__ import annotations

from typing import Final

from manifests.defaults import PROBES
from manifests.findings import REQUIRED, Place
from manifests.names import header_name, port_name
from manifests.texts import quoted

MAX_PORT = 65535

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
STOP_SIGNALS: Final = frozenset(
    {
        *(
            "SIGABRT",
            "SIGALRM",
            "SIGBUS",
            "SIGCHLD",
            "SIGCLD",
            "SIGCONT",
            "SIGFPE",
            "SIGHUP",
            "SIGILL",
        ),
        *(
            "SIGINT",
            "SIGIO",
            "SIGIOT",
            "SIGKILL",
            "SIGPIPE",
            "SIGPOLL",
            "SIGPROF",
            "SIGPWR",
            "SIGQUIT",
        ),
        *("SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN"),
        *("SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"),
        *("SIGRTMIN", *(f"SIGRTMIN+{number}" for number in range(1, 16))),
        *("SIGRTMAX", *(f"SIGRTMAX-{number}" for number in range(1, 15))),
    }
)


def validate_probes(container: Place) -> None:
    """Tell what is wrong with the three probes of a container."""
    for name in PROBES:
        if probe := container.child(name):
            _validate_probe(probe, name)


def validate_lifecycle(lifecycle: Place, grace_period: int, os_name: str) -> None:
    """Tell what is wrong with the hooks of a container and with its stop signal.

    ``grace_period`` is the pod's, in seconds.
    """
    for name in ("postStart", "preStop"):
        if hook := lifecycle.child(name):
            _validate_handler(hook, _HOOK_HANDLERS)
            if sleep := hook.child("sleep"):
                sleep.within("seconds", 0, max(0, grace_period))
    if lifecycle.has("stopSignal"):
        if lifecycle.get("stopSignal") not in STOP_SIGNALS:
            lifecycle.wrong("must be the name of a signal, as SIGTERM", "stopSignal")
        if not os_name:
            lifecycle.wrong("needs spec.os.name", "stopSignal")


def validate_port(place: Place, name: str = "port") -> None:
    """Tell when the field ``name`` is neither the number nor the name of a port."""
    port = place.get(name)
    if port is None:
        place.wrong(REQUIRED, name)
    elif isinstance(port, int):
        place.within(name, 1, MAX_PORT)
    elif complaint := port_name(port):
        place.wrong(complaint, name)


def _validate_probe(probe: Place, name: str) -> None:
    _validate_handler(probe, _PROBE_HANDLERS)
    probe.within("initialDelaySeconds", 0)
    for number in ("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        probe.within(number, 1)
    probe.within("terminationGracePeriodSeconds", 1)
    if name == "readinessProbe":
        if probe.has("terminationGracePeriodSeconds"):
            text = "cannot be set for readiness: it ends nothing"
            probe.wrong(text, "terminationGracePeriodSeconds")
    elif probe.get("successThreshold") != 1:
        probe.wrong("must be 1 for liveness and startup", "successThreshold")


def _validate_handler(holder: Place, kinds: tuple[str, ...]) -> None:
    kind = holder.only_one(kinds)
    handler = holder.child(kind) if kind else None
    if handler is None:
        return
    if kind == "exec":
        handler.required("command")
    elif kind == "httpGet":
        _validate_http_get(handler)
    elif kind == "tcpSocket":
        validate_port(handler)
    elif kind == "grpc":
        _validate_grpc(handler)


def _validate_grpc(action: Place) -> None:
    if action.has("port"):
        action.within("port", 1, MAX_PORT)
    else:
        action.wrong(REQUIRED, "port")
    if action.has("mode") and action.get("mode") not in {"TLS", "Plaintext"}:
        action.wrong(f"must be TLS or Plaintext, not {quoted(action.get('mode'))}", "mode")


def _validate_http_get(action: Place) -> None:
    validate_port(action)
    if action.get("scheme") not in {"HTTP", "HTTPS"}:
        action.wrong(f"must be HTTP or HTTPS, not {quoted(action.get('scheme'))}", "scheme")
    for header in action.each("httpHeaders"):
        header.named("name", header_name)
