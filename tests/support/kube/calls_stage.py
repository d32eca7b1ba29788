"""ApiCalls on a stage: its sender does as the test says, and answers when the test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from typing_extensions import override

from kernel import Runtime
from kube.calls.actor import API_CALLS, ApiCalls, CallMemory, CallRules
from kube.calls.request_info import attempt_of
from kube.calls.sender import NO_ANSWER, Sender, SendResult
from kube.credentials.access import Access
from kube.errors import ApiError
from messages.api import (
    ApiAnswered,
    ApiFailure,
    ApiRequest,
    CallApi,
    CallsDescribed,
    FailureKind,
    Verb,
)
from messages.pods import JsonObject
from messages.units import Seconds
from tests.support.kernel.probe import Probe
from tests.support.kernel.stage import Stage, stage_of
from tests.support.questions import describe_calls

SERVER, USER = "https://api.example:6443", "n1"
HOST = "api.example:6443"
ACCESS = Access(server=SERVER, user=USER)


class ScriptedSender(Sender):
    """Answers with what ``outcomes`` says next, else with an empty object; keeps what it sent."""

    def __init__(self) -> None:
        self.outcomes: deque[JsonObject | ApiError] = deque()
        self.sent: list[str] = []
        """What was attempted, in order."""
        self.unreadable = ""
        """Why the credentials cannot be read again."""
        self.is_held = False
        """Requests are under way until the test has them answered."""
        self.held: deque[Callable[[], None]] = deque()

    @property
    @override
    def credentials_trouble(self) -> str:
        return self.unreadable

    @override
    def begin(
        self, request: ApiRequest, deadline: Seconds, done: Callable[[SendResult], None]
    ) -> None:
        answer = partial(self._answer, request, done)
        if self.is_held:
            self.held.append(answer)
        else:
            answer()

    def answer_one(self) -> None:
        """Answer what is under way for longest."""
        self.held.popleft()()

    def _answer(self, request: ApiRequest, done: Callable[[SendResult], None]) -> None:
        done(self._result(request))

    def _result(self, request: ApiRequest) -> SendResult:
        attempt = attempt_of(request)
        self.sent.append(attempt)
        outcome = self.outcomes.popleft() if self.outcomes else {}
        if isinstance(outcome, ApiError):
            code = str(outcome.status) if outcome.status else NO_ANSWER
            failure = outcome.failure(attempt, ACCESS)
            return SendResult(outcome=failure, server=SERVER, user=USER, codes=(code,))
        return SendResult(outcome=outcome, server=SERVER, user=USER, codes=("200",))

    def drain(self) -> list[str]:
        """Return what was attempted since the last call."""
        sent, self.sent = self.sent, []
        return sent


class CallsStage:
    """The stage, and everything around the actor."""

    def __init__(self, play: Stage, sender: ScriptedSender, memory: CallMemory) -> None:
        self.play = play
        self.sender = sender
        self.memory = memory
        self.caller: Probe[ApiAnswered] = Probe()

    def calls(self, *requests: ApiRequest, deadline: float = 10.0) -> None:
        """Have them all called before anything of it is handled."""
        self.play.tell_all(
            API_CALLS,
            *(
                CallApi(request=request, reply_to=self.caller, deadline=Seconds(deadline))
                for request in requests
            ),
        )

    def heard(self) -> list[str]:
        """Return what the caller heard since the last call: ``/api/v1/pods: ok``."""
        return [f"{answer.request.path}: {_word(answer.outcome)}" for answer in self.caller.drain()]

    def answers(self, times: int = 1) -> None:
        """Let so many requests be answered."""
        for _ in range(times):
            self.sender.answer_one()
        self.play.settle()

    def described(self) -> CallsDescribed:
        """Return how calls go."""

        return self.play.ask(API_CALLS, describe_calls)


@contextmanager
def calls_stage(
    rules: CallRules | None = None, runtime: Runtime | None = None
) -> Iterator[CallsStage]:
    """Start ApiCalls without a limit, unless ``rules`` set one; stop it whatever happens."""
    sender, memory = ScriptedSender(), CallMemory()
    rules = rules or CallRules(qps=0.0)
    calls = (API_CALLS, lambda _play: ApiCalls(sender, memory, rules))
    with stage_of(calls, runtime=runtime) as play:
        yield CallsStage(play, sender, memory)


def get(path: str) -> ApiRequest:
    """Return the request to get ``path``."""
    return ApiRequest(verb=Verb.GET, path=path)


def create_pod(name: str) -> ApiRequest:
    """Return the request to create a pod."""
    path = "/api/v1/namespaces/default/pods"
    return ApiRequest(verb=Verb.CREATE, path=path, body={"kind": "Pod", "metadata": {"name": name}})


def renew_lease() -> ApiRequest:
    """Return the request to renew the node's Lease."""
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
    return ApiRequest(verb=Verb.UPDATE, path=path, body={})


def post_event() -> ApiRequest:
    """Return the request to post an event."""
    return ApiRequest(verb=Verb.CREATE, path="/api/v1/namespaces/default/events", body={})


def error(kind: FailureKind, status: int = 0, text: str = "") -> ApiError:
    """Return an error of ``kind``."""
    return ApiError(text or kind.value, kind=kind, status=status)


def _word(outcome: JsonObject | ApiFailure) -> str:
    return outcome.kind.value if isinstance(outcome, ApiFailure) else "ok"
