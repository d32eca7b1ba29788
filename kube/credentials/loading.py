"""The agent's credentials: from a kubeconfig, or from inside the cluster.

The kubernetes client says what the entries mean: its loader reads them into a new ``Configuration``. This
module adds what a daemon needs: sentences instead of stack traces, no secrets in them, and keys in files
only for as long as it takes to read them. Only this module imports the kubernetes client (0.4 s and 40 MB),
so an agent without a cluster never does.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kubernetes.client import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.config.kube_config import KubeConfigLoader

from kernel import Clock, SystemClock
from kube.credentials.access import Access, CredentialsError
from kube.credentials.certificates import CertificateError, read_certificate
from kube.credentials.exec_plugin import IssuedCredentials, PluginError, run_plugin
from kube.credentials.kubeconfig import ChosenContext, choose
from kube.credentials.proxies import environment_proxy
from kube.credentials.rereading import NEVER, LoadedAccess, NoteFile, RereadCredentials
from messages.pods import JsonObject
from messages.units import Timestamp

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EARLY: Final = 60.0
"""Seconds before its end that an issued credential is replaced; at most a fifth of its lifetime."""


class KubeconfigCredentials(RereadCredentials):
    """The credentials in one context of a kubeconfig, with all files that it names."""

    def __init__(self, path: Path, context: str | None = None, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        super().__init__(_KubeconfigReader(path, context, clock), clock)


class InClusterCredentials(RereadCredentials):
    """The credentials that a pod gets from its service account."""

    def __init__(
        self,
        folder: Path = SERVICE_ACCOUNT,
        environment: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(_InClusterReader(folder, environment), clock or SystemClock())


class _KubeconfigReader:
    def __init__(self, path: Path, context: str | None, clock: Clock) -> None:
        self._path = path
        self._context = context
        self._clock = clock

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
        for path in chosen.files(self._path.parent).values():
            note(path)
        issued = self._issued(chosen)
        access = _access(chosen, issued, self._path.parent)
        return self._found(access, issued)

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
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment

    def __call__(self, note: NoteFile) -> LoadedAccess:
        token, ca = self._folder / "token", self._folder / "ca.crt"
        note(token)
        note(ca)
        if not self._environment.get("KUBERNETES_SERVICE_HOST"):
            raise CredentialsError(
                "this is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set"
            )
        configuration = Configuration()
        try:
            InClusterConfigLoader(  # type: ignore[no-untyped-call]  # it has no types
                str(token), str(ca), environ=self._environment
            ).load_and_set(configuration)
            authority = ca.read_bytes()
        except ConfigException as error:
            # The loader's texts are constant and say what is missing.
            what = str(error).rstrip(".").lower()
            raise CredentialsError(f"the service account in {self._folder}: {what}") from None
        except (OSError, ValueError) as error:
            raise CredentialsError(
                f"the service account in {self._folder} cannot be read: {_why(error)}"
            ) from None
        access = Access(
            server=configuration.host,
            user=f"the service account in {self._folder}",
            authorization=_authorization(configuration),
            ca=authority,
            proxy=environment_proxy(configuration.host),
        )
        return LoadedAccess(access=access)


def _access(chosen: ChosenContext, issued: IssuedCredentials, folder: Path) -> Access:
    for field, path in chosen.files(folder).items():
        _check_file(path, field)
    # The loader gets a command's token as if it were in the file.
    user = {field: value for field, value in chosen.user.items() if field != "exec"}
    if issued.token:
        user["token"] = issued.token
    if issued.certificate:
        user["client-certificate-data"] = _encoded(issued.certificate)
        user["client-key-data"] = _encoded(issued.key)
    return _loaded(chosen, user, folder)


def _loaded(chosen: ChosenContext, user: JsonObject, folder: Path) -> Access:
    """Return what the kubernetes client makes of the two entries."""
    configuration = Configuration()
    try:
        # Keys are written to a private directory, for as long as it takes to read them.
        with tempfile.TemporaryDirectory() as private:
            document = {
                "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                "clusters": [{"name": "it", "cluster": _in_files(chosen.cluster, Path(private))}],
                "users": [{"name": "it", "user": _in_files(user, Path(private))}],
            }
            KubeConfigLoader(  # type: ignore[no-untyped-call]  # it has no types
                document, "it", config_base_path=str(folder)
            ).load_and_set(configuration)
            ca, identity = _content(configuration.ssl_ca_cert), _identity(configuration)
    except OSError as error:
        why = f"no directory for temporary files: {_why(error)}"
        raise CredentialsError(f"cannot be read: {why}") from None
    except (ConfigException, ValueError, TypeError):
        # Everything that can be explained was checked before. The loader's texts may contain anything.
        raise CredentialsError("cannot be used: the kubernetes client does not take it") from None
    return Access(
        server=configuration.host,
        user=chosen.user_name,
        authorization=_authorization(configuration),
        ca=ca,
        identity=identity,
        verify=configuration.verify_ssl,
        tls_server_name=configuration.tls_server_name or "",
        proxy=chosen.cluster.get("proxy-url") or environment_proxy(configuration.host),
    )


def _in_files(entry: JsonObject, private: Path) -> JsonObject:
    """Return ``entry`` with files instead of data, since the loader would keep data for ever."""
    changed = dict(entry)
    for field in ("certificate-authority", "client-certificate", "client-key"):
        data = changed.pop(f"{field}-data", None)
        if data:
            path = private / field
            path.write_bytes(base64.b64decode(data))
            changed[field] = str(path)
    return changed


def _authorization(configuration: Configuration) -> str:
    # Token files end with a line break, which the loader keeps.
    value = configuration.api_key.get("BearerToken", "").strip()
    if not value.isprintable() or not value.isascii():
        raise CredentialsError("has a token with characters that no header can carry")
    scheme, _, token = value.partition(" ")
    if value and not token.strip():
        raise CredentialsError("has an empty token")
    return f"{scheme.capitalize()} {token.strip()}" if value else ""


def _identity(configuration: Configuration) -> bytes | None:
    certificate, key = _content(configuration.cert_file), _content(configuration.key_file)
    if certificate is None or key is None:
        return None
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


def _check_file(path: Path, field: str) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        why = _why(error)
        raise CredentialsError(f"names a {field} {path} that cannot be read: {why}") from None
    if not content.strip():
        raise CredentialsError(f"names a {field} {path} that is empty")
    if field == "tokenFile" and not content.isascii():
        raise CredentialsError(f"names a {field} {path} that holds no token")


def _whose(plugin: JsonObject, chosen: ChosenContext) -> str:
    command = str(plugin.get("command"))[:64]
    return f'has a user "{chosen.user_name[:64]}" whose exec plugin "{command}"'


def _content(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path else None


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "not text").lower()
