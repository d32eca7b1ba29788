"""Nothing that a log line or a traceback prints of this package's values has a secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyreqwest.client import ClientBuilder

from kube.calls.actor import CallDone, CallMemory
from kube.calls.sender import Connected, SendResult
from kube.credentials.access import Access
from kube.credentials.exec_plugin import IssuedCredentials
from kube.credentials.kubeconfig import choose
from kube.credentials.rereading import LoadedAccess, _Reading
from kube.streams.parsing import ListPage, StreamEvent
from messages.api import ApiAnswered, ApiRequest, CallApi, Verb
from messages.units import Seconds
from messages.watches import ObjectOp, ObjectsAre, WatchEvent, WatchTarget
from tests.support.kernel.probe import Probe
from tests.support.kube.kubeconfigs import CANARY, Kubeconfig

ACCESS = Access(
    server="https://host:6443",
    user="n1",
    authorization=f"Bearer {CANARY}",
    ca=CANARY.encode(),
    identity=CANARY.encode(),
    proxy=f"http://me:{CANARY}@proxy:1",
)
FOUND = LoadedAccess(access=ACCESS)
SECRET = {"kind": "Secret", "data": {"password": CANARY}}
REQUEST = ApiRequest(verb=Verb.CREATE, path="/api/v1/namespaces/default/secrets", body=SECRET)
SENT = SendResult(outcome=SECRET, server="https://host:6443", user="n1", codes=("200",))
SECRETS = WatchTarget(path="/api/v1/namespaces/default/secrets")
CALLER: Probe[ApiAnswered] = Probe()
CALL = CallApi(request=REQUEST, reply_to=CALLER)


@pytest.mark.parametrize(
    "value",
    [
        ACCESS,
        FOUND,
        _Reading(files={}, read_at=Seconds(0.0), found=FOUND),
        IssuedCredentials(token=CANARY, certificate=CANARY, key=CANARY),
        Connected(key=ACCESS.connection_key, client=ClientBuilder().build()),
        SENT,
        CallDone(number=1, request=REQUEST, sent=SENT),
        CALL,
        CallMemory(unanswered={1: CALL}),
        ApiAnswered(request=REQUEST, outcome=SECRET),
        ObjectsAre(target=SECRETS, objects=(SECRET,), resource_version="1"),
        WatchEvent(target=SECRETS, op=ObjectOp.ADDED, object=SECRET),
        StreamEvent(type="ADDED", object=SECRET, version="1"),
        ListPage(objects=(SECRET,), version="1", next=""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_holds_a_secret_shows_none(value: object) -> None:
    assert CANARY not in repr(value)
    assert repr(value).startswith(type(value).__name__)


@pytest.mark.parametrize(
    "user",
    [
        {"token": CANARY},
        {"username": "me", "password": CANARY},
        {"exec": {"command": "login", "env": [{"name": "A", "value": CANARY}], "args": [CANARY]}},
    ],
    ids=lambda user: next(iter(user)),
)
def test_what_is_chosen_of_a_kubeconfig_shows_no_entry(
    tmp_path: Path, user: dict[str, object]
) -> None:
    kubeconfig = Kubeconfig(tmp_path)
    server = {"server": "https://host:6443", "proxy-url": f"http://me:{CANARY}@proxy:1"}
    kubeconfig.is_for(cluster=server, user=user)
    chosen = choose(kubeconfig.path.read_bytes(), None)
    assert repr(chosen) == "ChosenContext(context='it', user_name='n1')"
