"""Whose a token is, and for what it is good, by what a real API server answers to whoever comes with it.

A TokenReview would say it too. But the 1.20 that comes for these tests is built with a newer Go than it was
written for, and after some kinds of review it breaks off connections that send it an object of a new kind.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from http import HTTPStatus

from kube.credentials.access import Access
from messages.pods import JsonObject
from tests.support.apiserver.client import ApiClient
from tests.support.apiserver.status import StatusError
from tests.support.cluster.cluster import Cluster


def holder_of(cluster: Cluster, token: str) -> str:
    """Return as whom one comes in with a token; empty if the API server does not take it."""
    access = Access(
        server=cluster.url, user="holder", authorization=f"Bearer {token}", ca=cluster.ca_pem
    )
    with ApiClient(access) as client:
        try:
            client.all("secrets")
        except StatusError as error:
            if error.code == HTTPStatus.UNAUTHORIZED:
                return ""
            (name,) = re.findall(r'User "(\S+)" cannot list', str(error))
            return str(name)
    raise AssertionError("nobody may read all Secrets")


def claims_of(token: str) -> JsonObject:
    """Return what a token says of itself."""
    part = token.split(".")[1]
    claims: JsonObject = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims
