"""Pods ask for images, and get them: one pull for all that want the same, one after the other."""

from __future__ import annotations

import pytest

from kernel import Runtime, Steps, Threads
from messages.container_runtime import (
    FindImage,
    ImageFound,
    LookAtPod,
    PullImage,
    RuntimeFailureKind,
)
from messages.units import Seconds
from runtimes.cri.images.messages import IMAGE_KEEPER
from runtimes.cri.images.options import PullOptions, parallel_pulls
from tests.support.images.image_stage import (
    ImageStage,
    image_id,
    image_stage,
    pod_with,
    pull_secret,
    refusal,
)

ALICE, BOB = pull_secret("alice", "alice"), pull_secret("bob", "bob")
WEB, SHOP = pod_with("web", "alice"), pod_with("shop", "alice")


@pytest.mark.parametrize("kind", [Steps, Threads])
def test_an_image_is_found_or_not(kind: type[Steps | Threads]) -> None:
    runtime: Runtime = kind()
    with image_stage(runtime=runtime) as stage:
        there = stage.service.store("busybox:1", size=7)
        assert stage.find("docker.io/library/busybox:1") == ImageFound(image_id=there, size=7)
        assert stage.find("busybox") == ImageFound(image_id="")
        assert [each.image for each in stage.service.asked] == [
            "docker.io/library/busybox:1",
            "busybox:latest",
        ]


def test_an_image_is_pulled_and_told_with_its_size_and_the_time_that_it_took() -> None:
    with image_stage() as stage:
        there = stage.service.offer("busybox", size=42)
        stage.service.holds_pulls = True
        stage.ask("busybox")
        stage.play.advance(2.5)
        assert stage.answered() == {}
        stage.service.let_go()
        stage.play.settle()
        assert stage.answer() == ImageFound(image_id=there, size=42, pulled_in=Seconds(2.5))
        assert image_id(stage.find("busybox")) == there


def test_one_pull_serves_all_pods_that_want_the_same() -> None:
    with image_stage() as stage:
        there = stage.service.offer("quay.io/app:1", users=("alice",))
        stage.service.holds_pulls = True
        first = stage.ask("quay.io/app:1", WEB, ALICE)
        second = stage.ask("quay.io/app:1", SHOP, ALICE)
        stage.service.let_go()
        stage.play.settle()
        answers = stage.answered()
        assert {ref: image_id(outcome) for ref, outcome in answers.items()} == {
            first: there,
            second: there,
        }
        assert stage.service.pulls() == [("quay.io/app:1", "alice")]


def test_other_credentials_are_another_pull() -> None:
    with image_stage() as stage:
        stage.service.offer("quay.io/app:1", users=("alice",))
        stage.service.holds_pulls = True
        good = stage.ask("quay.io/app:1", WEB, ALICE)
        bad = stage.ask("quay.io/app:1", pod_with("thief", "bob"), BOB)
        for _ in range(3):
            stage.service.let_go()
            stage.play.settle()
        answers = stage.answered()
        assert isinstance(answers[good], ImageFound)
        assert refusal(answers[bad]).kind is RuntimeFailureKind.IMAGE_PULL
        assert [user for _, user in stage.service.pulls()] == ["alice", "bob", ""]


def test_pulls_go_one_after_the_other_the_oldest_first() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        for name in ("c", "a", "b"):
            stage.service.offer(name)
            stage.ask(name)
        stage.ask("c")
        for done in range(3):
            assert [image for image, _ in stage.service.pulls()] == [
                "c:latest",
                "a:latest",
                "b:latest",
            ][: done + 1]
            stage.service.let_go()
            stage.play.settle()
        assert len(stage.answered()) == 4


@pytest.mark.parametrize(
    ("serialize", "at_most", "at_once"), [(True, 5, 1), (False, 2, 2), (False, None, 5)]
)
def test_so_many_pulls_go_on_as_are_allowed(
    *, serialize: bool, at_most: int | None, at_once: int
) -> None:
    pulls = PullOptions(parallel=parallel_pulls(serialize=serialize, at_most=at_most))
    with image_stage(pulls) as stage:
        stage.service.holds_pulls = True
        for name in "abcde":
            stage.ask(name)
        assert len(stage.service.held) == at_once


def test_more_pulls_than_the_rate_allows_fail_at_once() -> None:
    with image_stage(PullOptions(parallel=None, per_second=1.0, burst=2)) as stage:
        for name in "abc":
            stage.service.offer(name)
        assert [image_id(stage.pull(name)) != "" for name in "ab"] == [True, True]
        assert refusal(stage.pull("c")).message == "pull QPS exceeded"
        stage.play.advance(1.0)
        assert image_id(stage.pull("c"))


def test_without_a_rate_any_number_of_pulls_may_begin() -> None:
    with image_stage(PullOptions(parallel=None, per_second=0.0, burst=1)) as stage:
        stage.service.holds_pulls = True
        for number in range(50):
            stage.ask(f"image-{number}")
        assert len(stage.service.held) == 50


# --- credentials --------------------------------------------------------------------------------------------


def test_all_credentials_are_tried_and_none_at_last() -> None:
    pod, secrets = pod_with("web", "bob", "alice"), {**BOB, **ALICE}
    with image_stage() as stage:
        stage.service.offer("quay.io/app:1", users=("alice",))
        assert image_id(stage.pull("quay.io/app:1", pod, secrets))
        stage.service.offer("quay.io/public:1", users=("",))
        assert image_id(stage.pull("quay.io/public:1", pod, secrets))
        assert [user for _, user in stage.service.pulls()] == ["bob", "alice", "bob", "alice", ""]


def test_a_refusal_names_no_credentials(caplog: pytest.LogCaptureFixture) -> None:
    with image_stage() as stage:
        stage.service.offer("quay.io/app:1", users=("nobody",))
        failure = refusal(stage.pull("quay.io/app:1", WEB, ALICE))
        assert failure.message == "quay.io/app:1: authorization failed"
        assert failure.reason == ""
        assert "canary" not in repr(stage.memory) + repr(failure) + caplog.text


def test_a_secret_that_is_missing_is_said_and_the_pull_goes_on() -> None:
    with image_stage() as stage:
        stage.service.offer("quay.io/app:1")
        assert image_id(stage.pull("quay.io/app:1", WEB))
        ((reason, message),) = stage.said()
        assert reason == "FailedToRetrieveImagePullSecret"
        assert "(alice)" in message


# --- troubles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("image", ["No Such", "app;reboot", "app\n", ""])
def test_what_is_no_name_of_an_image_never_reaches_the_runtime(image: str) -> None:
    with image_stage() as stage:
        for outcome in (stage.find(image), stage.pull(image)):
            assert refusal(outcome).reason == "InvalidImageName"
        assert stage.service.asked == []


def test_what_is_no_request_about_images_is_refused() -> None:
    with image_stage() as stage:
        stage.send(LookAtPod(uid=WEB.uid))
        assert refusal(stage.answer()).kind is RuntimeFailureKind.UNSUPPORTED


@pytest.mark.parametrize(
    ("said", "reason", "message"),
    [
        ("no such host", "", "no such host"),
        (
            "RegistryUnavailable: 503\n  from quay.io",
            "RegistryUnavailable",
            "image pull failed for app because the registry is unavailable: 503 from quay.io",
        ),
        (
            "SignatureValidationFailed",
            "SignatureValidationFailed",
            "image pull failed for app because the signature validation failed",
        ),
    ],
)
def test_a_failed_pull_is_told_in_the_runtimes_words(said: str, reason: str, message: str) -> None:
    with image_stage() as stage:
        stage.service.broken["PullImage"] = said
        failure = refusal(stage.pull("app"))
        assert (failure.kind, failure.reason) == (RuntimeFailureKind.IMAGE_PULL, reason)
        assert failure.message == message


def test_an_image_that_no_registry_has_is_told_as_a_kubelet_tells_it() -> None:
    with image_stage() as stage:
        failure = refusal(stage.pull("app"))
        assert failure.message == (
            "rpc error: code = NotFound desc = docker.io/library/app:latest: not found"
        )


def test_a_runtime_that_is_away_makes_answers_uncertain_and_nothing_is_tried_twice() -> None:
    with image_stage() as stage:
        stage.service.away = True
        for outcome in (stage.find("app"), stage.pull("quay.io/app", WEB, ALICE)):
            assert refusal(outcome).kind is RuntimeFailureKind.UNCERTAIN
        assert len(stage.service.pulls()) == 1


def test_a_connection_that_breaks_during_a_pull_makes_room_for_the_next() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        first = stage.ask("a")
        stage.service.offer("b")
        second = stage.ask("b")
        stage.service.cut()
        stage.play.settle()
        assert refusal(stage.answered()[first]).kind is RuntimeFailureKind.UNCERTAIN
        stage.service.let_go()
        stage.play.settle()
        assert image_id(stage.answered()[second])


def test_a_size_that_cannot_be_had_does_not_undo_a_pull() -> None:
    with image_stage() as stage:
        there = stage.service.offer("app")
        stage.service.broken["ImageStatus"] = "the disk is full"
        outcome = stage.pull("app")
        assert outcome == ImageFound(image_id=there, pulled_in=Seconds(0.0))


# --- what takes long ----------------------------------------------------------------------------------------


def test_of_a_pull_that_takes_long_people_are_told_now_and_then() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        stage.ask("big", WEB)
        stage.said()
        stage.play.advance(100.0)
        assert stage.said() == [
            ("Pulling", f'Still pulling image "big" after {span}')
            for span in ("30s", "1m0s", "1m30s")
        ]


def test_who_cannot_wait_any_longer_is_answered_and_joins_the_pull_again() -> None:
    with image_stage() as stage:
        there = stage.service.offer("big")
        stage.service.holds_pulls = True
        first = stage.ask("big", deadline=60.0)
        stage.play.advance(75.0)
        failure = refusal(stage.answered()[first])
        assert failure.kind is RuntimeFailureKind.UNCERTAIN
        assert failure.message == "image is still being pulled after 1m0s"
        second = stage.ask("big")
        stage.service.let_go()
        stage.play.settle()
        assert image_id(stage.answered()[second]) == there
        assert len(stage.service.pulls()) == 1


# --- crashes ------------------------------------------------------------------------------------------------


def test_a_crash_loses_no_pull() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        refs = []
        for name in "abc":
            stage.service.offer(name)
            refs.append(stage.ask(name))
        stage.crash()
        for _ in range(3):
            stage.service.let_go()
            stage.play.settle()
        assert {
            ref: bool(image_id(each)) for ref, each in stage.answered().items()
        } == dict.fromkeys(refs, True)
        assert len(stage.service.pulls()) == 3


def crash_over_an_answer(stage: ImageStage, patched: pytest.MonkeyPatch) -> None:
    """Have the keeper crash before it tells its next answer."""

    def crash(_: object) -> None:
        patched.undo()
        raise RuntimeError("crashed on request")

    patched.setattr(stage.answers, "tell", crash)


def test_who_waits_for_a_pull_is_answered_though_the_keeper_crashes_over_the_answer_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        stage.service.offer("a")
        refs = {stage.ask("a"), stage.ask("a")}
        crash_over_an_answer(stage, monkeypatch)
        stage.service.let_go()
        stage.play.advance(1.0)
        assert stage.answered().keys() == refs
        assert len(stage.play.endings) == 1


def test_a_pull_over_whose_refusal_the_keeper_crashes_begins_when_the_rate_allows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with image_stage(PullOptions(parallel=None, per_second=1.0, burst=1)) as stage:
        for name in "ab":
            stage.service.offer(name)
        assert image_id(stage.pull("a"))
        crash_over_an_answer(stage, monkeypatch)
        ref = stage.ask("b")
        stage.play.advance(40.0)
        assert ref in stage.answered()
        assert len(stage.play.endings) == 1


class FailingOnce:
    """A bug: an answer that cannot be handled."""

    @property
    def image_ref(self) -> str:
        raise RuntimeError("a bug")


def failing(stage: ImageStage) -> None:
    """Answer the first pull that is held with something that fails."""
    _, done = stage.service.held.pop(0)
    done(FailingOnce())  # type: ignore[arg-type]  # that is the point
    stage.play.advance(1.0)


def test_a_pull_that_the_keeper_fails_over_is_answered_as_uncertain_and_the_next_one_begins() -> (
    None
):
    with image_stage() as stage:
        stage.service.holds_pulls = True
        stage.service.offer("b")
        first, second = stage.ask("a"), stage.ask("b")
        failing(stage)
        assert refusal(stage.answered()[first]).kind is RuntimeFailureKind.UNCERTAIN
        stage.service.let_go()
        stage.play.settle()
        assert image_id(stage.answered()[second])


@pytest.mark.parametrize("request_of", [FindImage, PullImage])
def test_a_call_that_cannot_even_be_made_is_answered_once_as_uncertain(
    request_of: type[FindImage | PullImage],
) -> None:
    with image_stage() as stage:
        stage.service.fails = 1
        first = stage.send(request_of(image="a", pod=WEB))
        stage.play.advance(1.0)
        assert refusal(stage.answered()[first]).kind is RuntimeFailureKind.UNCERTAIN
        stage.service.offer("a")
        assert image_id(stage.pull("a"))


def test_a_late_answer_of_the_runtime_is_ignored() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        stage.service.offer("a")
        stage.ask("a")
        rpc, done = stage.service.held[0]
        stage.service.let_go()
        stage.play.settle()
        stage.answered()
        assert rpc.deadline == 3600.0
        done(FailingOnce())  # type: ignore[arg-type]  # it is not looked at
        stage.play.settle()
        assert stage.answered() == {}
        assert stage.play.describe()[IMAGE_KEEPER.path].restarts == 0


def test_a_call_that_repeats_is_answered_once() -> None:
    with image_stage() as stage:
        stage.service.holds_pulls = True
        stage.service.offer("a")
        ref = stage.ask("a")
        stage._refs = iter([ref])  # type: ignore[assignment]  # the same call again
        stage.ask("a")
        stage.service.let_go()
        stage.play.settle()
        assert list(stage.answered()) == [ref]


def test_requests_show_no_secrets() -> None:
    for request in (
        FindImage(image="a", pod=WEB, objects=ALICE),
        PullImage(image="a", pod=WEB, objects=ALICE),
    ):
        assert "canary" not in repr(request)
