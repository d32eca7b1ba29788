"""Sources that may give their pods the UIDs under which a kubelet runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from messages.pod_runtime import ListRuntimePods, PodsObserved
from messages.pods import FILE, HTTP
from sources.file import FILE_SOURCE
from sources.kept_uids import WAITING, StaticUids
from tests.support.kernel.probe import Probe
from tests.support.sources.file_source_stage import adopting_file_source, pod_text
from tests.support.sources.http_source_stage import (
    http_rules,
    http_source_stage,
    pod_body,
)
from tests.support.sources.questions import described
from tests.unit.manifests.test_adopting import running


def test_no_manifest_is_told_before_it_is_known_which_pods_run(path: Path, tmp_path: Path) -> None:
    path.joinpath("web.yaml").write_text(pod_text())
    pods: Probe[ListRuntimePods] = Probe()
    uids = StaticUids(tmp_path, FILE, adopts=True)
    with adopting_file_source(path, uids, pods) as files:
        files.notices()
        files.asks_for_listing()
        files.play.settle()
        assert files.listings() == []
        assert described(files.play, FILE_SOURCE).error == WAITING
        assert not described(files.play, FILE_SOURCE).ready
        files.crashes()
        assert files.listings() == []
        question = pods.drain()[-1]
        question.reply_to.tell(PodsObserved(pods=(running(),)))
        files.play.advance(1.0)
        assert [pod.uid for pod in files.pods() or ()] == ["k1"]
        assert described(files.play, FILE_SOURCE).error == ""
        assert [each.uid for each in described(files.play, FILE_SOURCE).manifests] == ["k1"]


def test_an_edited_manifest_has_another_uid_and_the_same_one_again_when_it_is_as_before(
    path: Path, tmp_path: Path
) -> None:
    uids = StaticUids(tmp_path, FILE, adopts=True)
    uids.learn((running(),))
    with adopting_file_source(path, uids) as files:
        files.write("web.yaml", pod_text())
        files.notices()
        (first,) = files.pods() or ()
        files.write("web.yaml", pod_text(image="registry.example/web:2"))
        files.notices()
        (second,) = files.pods() or ()
        files.crashes()
        files.write("web.yaml", pod_text())
        files.notices()
        (third,) = files.pods() or ()
    assert first.uid == third.uid == "k1"
    assert second.uid != "k1"


def test_a_url_is_not_asked_before_it_is_known_which_pods_run(tmp_path: Path) -> None:
    pods: Probe[ListRuntimePods] = Probe()
    uids = StaticUids(tmp_path, HTTP, adopts=True)
    rules = http_rules()
    rules = replace(rules, uids=uids, manifests=replace(rules.manifests, uids=uids))
    with http_source_stage(first=pod_body(), rules=rules, pods=pods) as http:
        http.polls()
        http.rescans()
        assert http.website.asked == []
        assert http.described().error == WAITING
        pods.drain()[-1].reply_to.tell(PodsObserved(pods=(running(source=HTTP),)))
        http.play.settle()
        http.polls()
        assert [pod.uid for pod in http.pods()] == ["k1"]
        assert http.described().error == ""
