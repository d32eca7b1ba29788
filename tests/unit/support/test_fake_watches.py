"""The watches of stories, where they have to be as strict as the real keeper."""

from __future__ import annotations

from messages.api import FailureKind
from messages.watches import ObjectsAre, Watch, WatchFailed, WatchRecovered, WatchTarget
from tests.support.apiserver.fake_api import FakeApi
from tests.support.apiserver.store import ApiStore
from tests.support.kernel.probe import Probe

BOUND = WatchTarget(path="/api/v1/pods", field_selector="spec.nodeName=n1")
WEB = WatchTarget(path="/api/v1/namespaces/default/secrets", field_selector="metadata.name=web")


def pod_with_secret(name: str) -> dict[str, object]:
    volume = {"name": "v", "secret": {"secretName": name}}
    containers = [{"name": "main", "image": "registry.example/web:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"nodeName": "n1", "containers": containers, "volumes": [volume]},
    }


def test_a_failure_stands_through_a_repeated_watch_until_it_recovers() -> None:
    facts: Probe[object] = Probe()
    api = FakeApi(ApiStore())
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    failed = facts.next()
    assert isinstance(failed, WatchFailed)
    assert failed.failure.kind is FailureKind.FORBIDDEN

    # Now a pod of the node has it, and who wants it begins anew.
    api.store.add(pod_with_secret("web"))
    api.watches.tell(Watch(target=WEB, subscriber=facts))
    # As long as it stands, it is what each ``Watch`` is answered with first.
    assert facts.next() == failed
    assert [type(fact) for fact in facts.drain()] == [ObjectsAre, WatchRecovered]


def test_a_watch_that_never_failed_has_nothing_to_recover_from() -> None:
    facts: Probe[object] = Probe()
    api = FakeApi(ApiStore())
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    api.watches.tell(Watch(target=BOUND, subscriber=facts))
    assert [type(fact) for fact in facts.drain()] == [ObjectsAre, ObjectsAre]
