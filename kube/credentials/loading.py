"""The agent's credentials: from a kubeconfig, or from inside the cluster.

The kubernetes client says what the entries mean. This module reads the files, and adds what a daemon needs:
sentences instead of stack traces, no secrets in them, and no key on a disk.

The standard library reads the proxies that the environment names. This module adds what Go's programs do and
people who run clusters rely on: address ranges in NO_PROXY, and no proxy for this machine.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kernel import Clock, SystemClock
from kube.credentials.access import Access, CertificateError, CredentialsError, read_certificate
from kube.credentials.client import Ask, Client, ClientAnswer, ClientRefusedError, ask_process
from kube.credentials.exec_plugin import IssuedCredentials, PluginError, run_plugin
from kube.credentials.kubeconfig import PEMS, ChosenContext, choose
from kube.credentials.rereading import NEVER, LoadedAccess, NoteFile, RereadCredentials
from messages.pods import JsonObject
from messages.units import Timestamp

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CLUSTER_FIELDS: Final = ("server", "insecure-skip-tls-verify", "tls-server-name")
_USER_FIELDS: Final = ("token", "username", "password")
_EARLY: Final = 60.0
"""Seconds before its end that an issued credential is replaced; at most a fifth of its lifetime."""


class KubeconfigCredentials(RereadCredentials):
    """The credentials in one context of a kubeconfig, with all files that it names."""

    def __init__(
        self,
        path: Path,
        context: str | None = None,
        clock: Clock | None = None,
        ask: Ask = ask_process,
    ) -> None:
        clock = clock or SystemClock()
        super().__init__(_KubeconfigReader(path, context, clock, Client(ask)), clock)


class InClusterCredentials(RereadCredentials):
    """The credentials that a pod gets from its service account."""

    def __init__(
        self,
        folder: Path = SERVICE_ACCOUNT,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        ask: Ask = ask_process,
    ) -> None:
        reader = _InClusterReader(folder, environment, Client(ask))
        super().__init__(reader, clock or SystemClock())


class _KubeconfigReader:
    def __init__(self, path: Path, context: str | None, clock: Clock, client: Client) -> None:
        self._path = path
        self._context = context
        self._clock = clock
        self._client = client

    def __call__(self, note: NoteFile) -> LoadedAccess:
        try:
            return self._read(note)
        except CredentialsError as error:
            raise CredentialsError(f"kubeconfig {self._path} {error}") from None

    def _read(self, note: NoteFile) -> LoadedAccess:
        note(self._path)
        try:
            text = self._path.read_bytes()
        except OSError as error:
            raise CredentialsError(f"cannot be read: {_why(error)}") from None
        chosen = choose(text, self._context)
        files = chosen.files(self._path.parent)
        for path in files.values():
            note(path)
        issued = self._issued(chosen)
        contents = {
            **{field: _content(path, field) for field, path in files.items()},
            **chosen.data,
            **_contents(issued),
        }
        return self._found(self._access(chosen, contents, issued.token), issued)

    def _issued(self, chosen: ChosenContext) -> IssuedCredentials:
        """Return what the user's command issues; nothing if there is no command."""
        plugin = chosen.user.get("exec")
        # A token beside it wins, as in the kubernetes client.
        if not plugin or chosen.user.get("token") or chosen.user.get("tokenFile"):
            return IssuedCredentials()
        try:
            issued = run_plugin(plugin, chosen.cluster, self._path.parent)
        except PluginError as error:
            raise CredentialsError(f"{_whose(plugin, chosen)} {error}") from None
        if issued.expires is not None and issued.expires <= self._clock.wall():
            raise CredentialsError(f"{_whose(plugin, chosen)} gave what has expired already")
        return issued

    def _access(
        self, chosen: ChosenContext, contents: Mapping[str, bytes], issued_token: str
    ) -> Access:
        question = _question(chosen, contents, issued_token)
        try:
            told = self._client.ask(question)
        except ClientRefusedError:
            # Everything that can be explained was checked before.
            raise CredentialsError(
                "cannot be used: the kubernetes client does not take it"
            ) from None
        return Access(
            server=told.server,
            user=chosen.user_name,
            authorization=_authorization(told),
            ca=contents["certificate-authority"] if told.has_authority else None,
            identity=_identity(contents) if told.has_identity else None,
            verify=told.verify,
            tls_server_name=told.tls_server_name,
            proxy=chosen.cluster.get("proxy-url") or environment_proxy(told.server),
        )

    def _found(self, access: Access, issued: IssuedCredentials) -> LoadedAccess:
        now = self._clock.wall()
        expires = refresh_at = NEVER
        if access.identity is not None:
            expires = refresh_at = _end_of(access.identity, access.user, now)
        if issued.expires is not None:
            expires = min(expires, issued.expires)
            early = min(_EARLY, (expires - now) / 5)
            refresh_at = Timestamp(expires - early)
        return LoadedAccess(access=access, refresh_at=refresh_at, expires=expires)


class _InClusterReader:
    def __init__(self, folder: Path, environment: Mapping[str, str], client: Client) -> None:
        self._folder = folder
        self._environment = environment
        self._client = client

    def __call__(self, note: NoteFile) -> LoadedAccess:
        token, ca = self._folder / "token", self._folder / "ca.crt"
        note(token)
        note(ca)
        if not self._environment.get("KUBERNETES_SERVICE_HOST"):
            raise CredentialsError(
                "this is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set"
            )
        try:
            return self._found(_text(token), _text(ca))
        except ClientRefusedError as error:
            # The client's texts are constant here and say what is missing.
            what = str(error).rstrip(".").lower()
            raise CredentialsError(f"the service account in {self._folder}: {what}") from None
        except CredentialsError as error:
            raise CredentialsError(f"the service account in {self._folder} {error}") from None

    def _found(self, token: str | None, authority: str | None) -> LoadedAccess:
        variables = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
        told = self._client.ask(
            {
                "environment": {
                    name: self._environment[name] for name in variables if name in self._environment
                },
                "token": token,
                "authority": authority,
            }
        )
        access = Access(
            server=told.server,
            user=f"the service account in {self._folder}",
            authorization=_authorization(told),
            ca=(authority or "").encode(),
            proxy=environment_proxy(told.server),
        )
        return LoadedAccess(access=access)


def _contents(issued: IssuedCredentials) -> dict[str, bytes]:
    """Return the content of the files that a command issued in their place."""
    if not issued.certificate:
        return {}
    return {
        "client-certificate": issued.certificate.encode(),
        "client-key": issued.key.encode(),
    }


def _question(
    chosen: ChosenContext, contents: Mapping[str, bytes], issued_token: str
) -> JsonObject:
    """Return what the client is asked: the entries, with no certificate, no key and no file in them."""
    user = {field: chosen.user[field] for field in _USER_FIELDS if field in chosen.user}
    # The client gets what a command issued, or a file holds, as if it stood in the kubeconfig.
    if issued_token:
        user["token"] = issued_token
    if "tokenFile" in contents:
        user["token"] = contents["tokenFile"].decode("ascii")
    return {
        "cluster": {
            field: chosen.cluster[field] for field in _CLUSTER_FIELDS if field in chosen.cluster
        },
        "user": user,
        "files": [field for field in PEMS if field in contents],
    }


def _authorization(told: ClientAnswer) -> str:
    # Token files end with a line break, which the client keeps.
    value = told.authorization.strip()
    if not value.isprintable() or not value.isascii():
        raise CredentialsError("has a token with characters that no header can carry")
    scheme, _, token = value.partition(" ")
    if value and not token.strip():
        raise CredentialsError("has an empty token")
    return f"{scheme.capitalize()} {token.strip()}" if value else ""


def _identity(contents: Mapping[str, bytes]) -> bytes:
    certificate, key = contents["client-certificate"], contents["client-key"]
    # A kubelet's rotated certificate and key are in one file, named twice.
    return certificate if certificate == key else certificate.rstrip() + b"\n" + key


def _end_of(identity: bytes, user: str, now: Timestamp) -> Timestamp:
    """Return when the client certificate expires. Raises ``CredentialsError``."""
    whose = f"has a client certificate of user {user} that"
    try:
        certificate = read_certificate(identity)
    except CertificateError:
        raise CredentialsError(f"{whose} is no PEM certificate") from None
    if b"ENCRYPTED" in identity:
        raise CredentialsError(f"{whose} has an encrypted key")
    if b"PRIVATE KEY-----" not in identity:
        raise CredentialsError(f"{whose} has no PEM key")
    if certificate.version != 3:
        raise CredentialsError(f"{whose} is of X.509 version {certificate.version}, not 3")
    if certificate.not_after <= now:
        end = datetime.fromtimestamp(certificate.not_after, UTC)
        raise CredentialsError(f"{whose} expired on {end:%Y-%m-%d %H:%M:%S} UTC")
    return certificate.not_after


def _content(path: Path, field: str) -> bytes:
    """Return what is in the file that ``field`` names. Raises ``CredentialsError``."""
    try:
        content = path.read_bytes()
    except OSError as error:
        why = _why(error)
        raise CredentialsError(f"names a {field} {path} that cannot be read: {why}") from None
    if not content.strip():
        raise CredentialsError(f"names a {field} {path} that is empty")
    if field == "tokenFile" and not content.isascii():
        raise CredentialsError(f"names a {field} {path} that holds no token")
    return content


def _text(path: Path) -> str | None:
    """Return what is in a file; None if there is none. Raises ``CredentialsError``."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CredentialsError(f"cannot be read: {_why(error)}") from None


def _whose(plugin: JsonObject, chosen: ChosenContext) -> str:
    command = str(plugin.get("command"))[:64]
    return f'has a user "{chosen.user_name[:64]}" whose exec plugin "{command}"'


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "not text").lower()


def environment_proxy(server: str) -> str:
    """Return the URL of the proxy for ``server``; empty for none."""
    proxies = getproxies()
    url = urlsplit(server)
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    host = url.hostname or ""
    if not proxy or _is_bypassed(host, url.netloc, proxies):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_bypassed(host: str, netloc: str, proxies: dict[str, str]) -> bool:
    if host == "localhost" or proxy_bypass(netloc):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    ranges = (_network(entry.strip()) for entry in proxies.get("no", "").split(","))
    return address.is_loopback or any(found is not None and address in found for found in ranges)


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
