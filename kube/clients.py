"""HTTP clients for one API server: one for calls, and one for watch streams.

Knows an ``Access`` and pyreqwest, and nothing of requests. The Authorization header belongs to the request
and not to the client, so that a new token needs no new connection.

pyreqwest trusts the system's certificate authorities in addition to the one of the ``Access``, and has no
option against it. So whoever controls the server's name and has a certificate of a public authority is
taken for the API server. pyreqwest also cannot expect another name than the one in the URL. With a
``tls_server_name`` the URL therefore has that name, and the client is told which address belongs to it.
"""

from __future__ import annotations

import ipaddress
import random
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError
from pyreqwest.proxy import ProxyBuilder

from kube.credentials.access import Access, CredentialsError
from kube.errors import ApiError
from messages.api import FailureKind

CONNECT_TIMEOUT: Final = timedelta(seconds=10)
PING_EVERY: Final = timedelta(seconds=20)
PING_ANSWER_WITHIN: Final = timedelta(seconds=10)
"""A connection whose other end vanished is noticed within 30 s (29 s measured)."""


def call_client(access: Access, user_agent: str) -> Client:
    """Return a client for calls.

    It speaks HTTP/2 if the server does, else HTTP/1.1. It has no total timeout: each request brings its
    own. May block to look up a name. Raises ``CredentialsError`` and ``ApiError``.
    """
    builder = _configured(access, user_agent).http2(enable=True)
    return _built(builder.build, access)


def streaming_client(access: Access, user_agent: str) -> Client:
    """Return a client for watch streams.

    It speaks HTTP/2 without negotiation: otherwise each request that waits for the first connection would
    dial one of its own. A server that speaks only HTTP/1.1 fails with "it speaks no HTTP/2". There is no
    total timeout, since a quiet watch is healthy; pings find a dead connection. May block to look up a
    name. Raises ``CredentialsError`` and ``ApiError``.
    """
    builder = _configured(access, user_agent).http2_prior_knowledge()
    return _built(builder.build, access)


def base_url(access: Access) -> str:
    """Return the beginning of each request's URL. The path of the API follows it directly."""
    if not access.tls_server_name:
        return access.server
    url = urlsplit(access.server)
    port = f":{url.port}" if url.port is not None else ""
    return f"{url.scheme}://{_bracketed(access.tls_server_name)}{port}{url.path}"


def _configured(access: Access, user_agent: str) -> ClientBuilder:
    """Return ``builder`` with everything that both clients share."""
    # A redirect would send the token wherever the answer says. pyreqwest uses the environment's proxies
    # by default; here the access says which proxy to use.
    builder = ClientBuilder().user_agent(user_agent).follow_redirects(enable=False).no_proxy()
    builder = builder.connect_timeout(CONNECT_TIMEOUT)
    builder = builder.http2_keep_alive_interval(PING_EVERY)
    builder = builder.http2_keep_alive_timeout(PING_ANSWER_WITHIN)
    builder = builder.http2_keep_alive_while_idle(enabled=True)
    if not access.verify:
        builder = builder.danger_accept_invalid_certs(enable=True)
    builder = _with_certificates(builder, access)
    return _with_route(builder, access)


def _with_certificates(builder: ClientBuilder, access: Access) -> ClientBuilder:
    if access.ca is not None:
        if b"-----BEGIN CERTIFICATE-----" not in access.ca:
            # pyreqwest accepts a text without any certificate.
            raise CredentialsError("the certificate authority's file holds no PEM certificate")
        builder = builder.add_root_certificate_pem(access.ca)
    if access.identity is not None:
        try:
            builder = builder.identity_pem(access.identity)
        except ValueError:
            raise CredentialsError(
                "the client certificate and its key are not a pair of PEM texts"
            ) from None
    return builder


def _with_route(builder: ClientBuilder, access: Access) -> ClientBuilder:
    """Return ``builder`` with the proxy, or with the address for another name."""
    if access.proxy and access.tls_server_name:
        raise CredentialsError("tls-server-name does not work together with a proxy")
    if access.proxy:
        try:
            return builder.proxy(ProxyBuilder.all(access.proxy))
        except ValueError:  # its text contains the URL, which may contain a password
            raise CredentialsError("the proxy's URL cannot be used") from None
    if access.tls_server_name:
        url = urlsplit(access.server)
        # The port given here is ignored: the URL's counts.
        return builder.resolve(access.tls_server_name, _address_of(url.hostname or ""), 0)
    return builder


def _built(build: Callable[[], Client], access: Access) -> Client:
    try:
        return build()
    except (BuilderError, ValueError) as error:
        raise CredentialsError(_why_not_built(error, access)) from None


def _why_not_built(error: Exception, access: Access) -> str:
    """Return what is wrong with the certificates. Nothing else can be wrong here."""
    details = str(error.args[1:])
    if "KeyMismatch" in details:
        return "the client key does not belong to the client certificate"
    if "No CA certificates" in details:
        return "there is no certificate authority: neither here nor in the system"
    if access.identity is not None:
        return "the client certificate, its key or the certificate authority cannot be read"
    return "the certificate authority cannot be read"


def _address_of(host: str) -> str:
    """Return a random address of ``host``, of the address family that suits this machine best.

    The client keeps it for life. If nobody answers there, the caller makes another client, which may get
    another address.
    """
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        raise ApiError("no such host", kind=FailureKind.UNREACHABLE) from None
    best = found[0][0]
    addresses = [str(place[0]) for family, *_, place in found if family == best]
    return random.choice(addresses)  # noqa: S311  # spreads load, guards nothing


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
