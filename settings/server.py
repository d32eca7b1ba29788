"""What the agent is told of the TLS port: fields of a KubeletConfiguration, under their own names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from messages.units import Seconds
from settings.addresses import is_loopback
from settings.errors import UsageError
from settings.kinds import ADDRESS, DURATION, LIST, PATH, PORT, SWITCH, TEXT, choice
from settings.rows import Section, ToldValues, row
from settings.situation import Where

EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  # as a kubelet's: who asks is known here
ALWAYS_ALLOW: Final = "AlwaysAllow"
AUTHORITIES: Final = "authentication.x509.clientCAFile"
_PKI: Final = "pki"
_VERSIONS: Final = {"": "TLSv1_2", "VersionTLS12": "TLSv1_2", "VersionTLS13": "TLSv1_3"}
"""What ``ssl.TLSVersion`` calls what a kubelet's configuration calls otherwise."""
_OF_TLS_13: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
"""Nobody chooses among those: all of them are good."""
_SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}
"""By Go's names, those of OpenSSL."""
USUAL_CIPHERS: Final = ":".join(dict.fromkeys(_SUITES.values()))


def _port(told: ToldValues) -> int:
    """Return the port; 0 where there is no server, or nobody could say who asks."""
    is_closed = not told.situation.is_joined and not told[AUTHORITIES]
    port: int = 0 if is_closed or not told["enableServer"] else told["port"]
    return port


def _mode(told: ToldValues) -> str:
    """Return who may. Raises ``UsageError`` if that is everybody on the network."""
    mode = str(told["authorization.mode"])
    is_anybody = mode == ALWAYS_ALLOW and told["authentication.anonymous.enabled"]
    if is_anybody and _port(told) and not is_loopback(told["address"] or EVERY_ADDRESS):
        raise UsageError(
            "authorization.mode AlwaysAllow lets anybody run commands in containers while "
            "authentication.anonymous.enabled is true: take a loopback address, or one of both back",
            at="authorization.mode",
        )
    return mode


def _allows_always(mode: str) -> bool:
    return mode == ALWAYS_ALLOW


def _file(text: str) -> Path | None:
    return Path(text) if text else None


def _key_file(told: ToldValues) -> str:
    """Return the file of the key. Raises ``UsageError`` if it has no certificate, or the other way round."""
    names = {name: told[name] for name in ("tlsCertFile", "tlsPrivateKeyFile")}
    missing = [name for name, value in names.items() if not value]
    if len(missing) == 1:
        (given,) = names.keys() - set(missing)
        raise UsageError(f"{given} has no effect without {missing[0]}", at=given)
    return str(names["tlsPrivateKeyFile"])


def _version(text: str) -> str:
    if text not in _VERSIONS:
        raise ValueError("should be VersionTLS12 or VersionTLS13")
    return _VERSIONS[text]


def _ciphers(names: Sequence[str]) -> str:
    for name in names:
        if name not in _SUITES and name not in _OF_TLS_13:
            raise ValueError(f"{name[:64]!r} should be one of {', '.join(_SUITES)}")
    chosen = dict.fromkeys(_SUITES[name] for name in names if name in _SUITES)
    return ":".join(chosen) or USUAL_CIPHERS


_row = partial(row, section=Section.SERVER, more="server.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the TLS port is served."""

    address: str = _row(
        ADDRESS,
        "address",
        flag="--address",
        says="Where the TLS port listens; the read-only port, too, if it is loopback",
        default_says="every address",
        settle=lambda address: address or EVERY_ADDRESS,
    )
    port: int = _row(
        PORT,
        "port",
        10250,
        flag="--port",
        says="The TLS port; 0 is off. Without a cluster it needs --client-ca-file",
        derive=_port,
    )
    """0 where there is none."""
    certificate_file: Path | None = _row(
        TEXT,
        "tlsCertFile",
        flag="--tls-cert-file",
        says="The serving certificate, with those of its issuers",
        default_says="one that the node makes for itself",
        settle=_file,
    )
    key_file: Path | None = _row(
        TEXT,
        "tlsPrivateKeyFile",
        flag="--tls-private-key-file",
        says="The key of that certificate",
        derive=_key_file,
        settle=_file,
    )
    certificate_directory: Path = _row(
        PATH,
        flag="--cert-dir",
        says="Where the node keeps the certificate that it makes for itself",
        default_says="pki below --root-dir",
        derive=lambda told: told["--cert-dir"] or told["--root-dir"] / _PKI,
    )
    least_version: str = _row(
        TEXT,
        "tlsMinVersion",
        flag="--tls-min-version",
        says="The lowest version of TLS: VersionTLS12 or VersionTLS13",
        default_says="VersionTLS12",
        settle=_version,
    )
    """As ``ssl.TLSVersion`` names it."""
    ciphers: str = _row(
        LIST,
        "tlsCipherSuites",
        flag="--tls-cipher-suites",
        says="The cipher suites of TLS 1.2; those of TLS 1.3 are all good",
        settle=_ciphers,
    )
    """As OpenSSL writes it."""
    client_authorities: Path | None = _row(
        TEXT,
        AUTHORITIES,
        flag="--client-ca-file",
        says="The authorities of clients' certificates",
        more="server.md#who-may",
        settle=_file,
    )
    allows_anonymous: bool = _row(
        SWITCH,
        "authentication.anonymous.enabled",
        flag="--anonymous-auth",
        says="Take who shows nothing for system:anonymous",
        more="server.md#who-may",
    )
    takes_tokens: bool = _row(
        SWITCH,
        "authentication.webhook.enabled",
        default=True,
        flag="--authentication-token-webhook",
        says="Have the API server review tokens",
        where=Where.CLUSTER,
    )
    token_lasts: Seconds = _row(
        DURATION,
        "authentication.webhook.cacheTTL",
        120.0,
        flag="--authentication-token-webhook-cache-ttl",
        says="How long a review of a token counts",
        where=Where.CLUSTER,
        zero_is_default=True,
    )
    allows_always: bool = _row(
        choice("mode", "Webhook", ALWAYS_ALLOW),
        "authorization.mode",
        "Webhook",
        flag="--authorization-mode",
        says="Who may: whom the API server allows it, or everybody who is known",
        more="server.md#who-may",
        zero_is_default=True,
        derive=_mode,
        settle=_allows_always,
    )
    """Everybody may who is known."""
    allowed_lasts: Seconds = _row(
        DURATION,
        "authorization.webhook.cacheAuthorizedTTL",
        300.0,
        flag="--authorization-webhook-cache-authorized-ttl",
        says="How long it counts that somebody may",
        where=Where.CLUSTER,
        zero_is_default=True,
    )
    denied_lasts: Seconds = _row(
        DURATION,
        "authorization.webhook.cacheUnauthorizedTTL",
        30.0,
        flag="--authorization-webhook-cache-unauthorized-ttl",
        says="How long it counts that somebody may not",
        where=Where.CLUSTER,
        zero_is_default=True,
    )
    debugging_handlers: bool = _row(
        SWITCH,
        "enableDebuggingHandlers",
        default=True,
        flag="--enable-debugging-handlers",
        says="Serve logs of containers, commands in them and ports of pods",
    )
