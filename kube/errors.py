"""What can go wrong with a request, as exceptions that know whether and how to try again.

HTTP statuses and errors of the transport become one small family here, each chained to its cause. It
leaves this package only as the value that actors tell each other (``ApiFailure``).

Texts are for logs and pages. Of an answer only the message of a Status passes, on one line of bounded
length, its URLs without user, password and query. Where the API server refuses an object, or a webhook
or an admission policy does, it is without what stands in quotes and without the rest from a brace on:
that may be an environment variable's value. What a webhook puts bare into its sentence cannot be told
from its words, and passes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pyreqwest.exceptions import ClientClosedError, DecodeError, DetailedPyreqwestError
from typing_extensions import override

from kube.credentials.access import Access, CredentialsError
from messages.api import ApiFailure, FailureKind, Retry
from messages.pods import JsonObject
from messages.units import Seconds, Timestamp

LONGEST_MESSAGE: Final = 512
"""Characters of the API server's own message that a sentence carries."""
LONGEST_WISH: Final = Seconds(60.0)
"""A server that wants to be left alone for longer is asked again after this. API servers wish for a few
seconds; what is longer comes from a gateway's page, or from a date while our clock was never set."""

RETRY: Final[Mapping[FailureKind, Retry]] = {
    FailureKind.UNREACHABLE: Retry.AFTER_DELAY,
    FailureKind.TIMEOUT: Retry.AFTER_DELAY,
    FailureKind.CREDENTIALS: Retry.AFTER_DELAY,
    # Tokens rotate, and roles and bindings arrive later than those who need them.
    FailureKind.UNAUTHORIZED: Retry.AFTER_DELAY,
    FailureKind.FORBIDDEN: Retry.AFTER_DELAY,
    FailureKind.NOT_FOUND: Retry.NEVER,
    FailureKind.ALREADY_EXISTS: Retry.AFTER_RELIST,
    FailureKind.CONFLICT: Retry.AFTER_RELIST,
    FailureKind.GONE: Retry.AFTER_RELIST,
    FailureKind.INVALID: Retry.NEVER,
    FailureKind.THROTTLED: Retry.AFTER_DELAY,
    FailureKind.SERVER_ERROR: Retry.AFTER_DELAY,
    FailureKind.REFUSED: Retry.NEVER,
    FailureKind.MALFORMED: Retry.AFTER_DELAY,
    FailureKind.LOST: Retry.AFTER_DELAY,
}
"""Whether what failed may be tried again: a question of its kind alone."""

_KIND_OF_REASON: Final[Mapping[str, FailureKind]] = {
    "AlreadyExists": FailureKind.ALREADY_EXISTS,
    "Expired": FailureKind.GONE,
    "Gone": FailureKind.GONE,
}
_KIND_OF_CODE: Final[Mapping[int, FailureKind]] = {
    400: FailureKind.INVALID,
    401: FailureKind.UNAUTHORIZED,
    403: FailureKind.FORBIDDEN,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    409: FailureKind.CONFLICT,
    410: FailureKind.GONE,
    422: FailureKind.INVALID,
    429: FailureKind.THROTTLED,
}

_IN_WORDS: Final[tuple[tuple[str, str], ...]] = (
    ("connection refused", "connection refused"),
    ("temporary failure in name resolution", "its name cannot be looked up at present"),
    ("dns error", "no such host"),
    ("no route to host", "no route to the host"),
    ("network is unreachable", "the network is unreachable"),
    ("unknownissuer", "its certificate is signed by an unknown authority"),
    ("certificate expired", "its certificate has expired"),
    ("certificate not valid yet", "its certificate is not valid yet"),
    ("certificate not valid for name", "its certificate is for another name"),
    ("invalid peer certificate", "its certificate cannot be trusted"),
    ("alert: certificaterequired", "it demands a client certificate"),
    ("received fatal alert", "it ended the TLS handshake: perhaps it refuses our certificate"),
    ("invalidcontenttype", "it speaks no TLS on this port"),
    ("not a result of an error", "it is closing the connection"),
    ("frame with invalid size", "it speaks no HTTP/2"),
    ("http2 error", "the HTTP/2 connection broke"),
    ("proxy auth", "the proxy wants to know who we are"),
    ("tunnel", "the proxy makes no connection to it"),
)
"""What pyreqwest's causes say somewhere, in lower case, and what it means. The first that fits."""
_OF_DIALLING: Final = frozenset(words for _, words in _IN_WORDS[:5])
"""Said of the machine that is dialled: the proxy, where there is one."""


class ApiError(Exception):
    """A request got no object. Its text says why, without server and user."""

    def __init__(
        self,
        text: str,
        *,
        kind: FailureKind,
        status: int = 0,
        retry_after: Seconds | None = None,
    ) -> None:
        """Keep what is known; ``status`` is 0 when there was no answer."""
        super().__init__(text)
        self.text = text
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def retry(self) -> Retry:
        """Whether the request may be sent again."""
        return RETRY[self.kind]

    @override
    def __str__(self) -> str:
        return self.text

    def failure(self, attempt: str, access: Access | None) -> ApiFailure:
        """Return the value that actors tell each other.

        ``attempt`` says what was to be done: ``create pod default/web``. ``access`` is None when the
        credentials could not be read.
        """
        where = f" at {access.server} as {access.user}" if access is not None else ""
        return ApiFailure(
            kind=self.kind,
            retry=self.retry,
            sentence=f"cannot {attempt}{where}: {self._by(access)}",
            status=self.status,
            retry_after=self.retry_after,
        )

    def _by(self, access: Access | None) -> str:
        """Return the text, and which machine it is about if that is not the server."""
        proxy = access.proxy_place if access is not None else ""
        if proxy and self.text in _OF_DIALLING:
            return f"the proxy {proxy}: {self.text}"
        if proxy and self.kind is FailureKind.TIMEOUT and not self.status:
            return f"{self.text}, by way of the proxy {proxy}"
        return self.text


def error_of_answer(
    status: int, headers: Mapping[str, str], body: bytes, now: Timestamp | None = None
) -> ApiError:
    """Return the error that an answer other than 2xx stands for.

    ``headers`` ignores case, or has its keys in lower case. Of ``body`` only a v1 Status is looked at:
    what a proxy on the way writes may be anything. ``now`` is for a Retry-After with a date from a
    server that does not show its own clock; without it such a wish is not heard.
    """
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    said: JsonObject = parsed if isinstance(parsed, dict) else {}
    return _error(status, said, _wish_of_header(headers, now))


def error_of_status(status: JsonObject) -> ApiError:
    """Return the error that a v1 Status stands for: the object of an ERROR event of a watch."""
    code = status.get("code")
    return _error(code if isinstance(code, int) else 0, status, None)


def error_of_transport(error: Exception, deadline: Seconds | None = None) -> ApiError:
    """Return in words why there was no answer.

    None of pyreqwest's own texts is passed on: they contain URLs. ``deadline`` is what the request was
    given, in seconds. Takes a ``CredentialsError`` too.
    """
    if isinstance(error, CredentialsError):
        return ApiError(str(error), kind=FailureKind.CREDENTIALS)
    if isinstance(error, TimeoutError):
        within = "in time" if deadline is None else f"within {deadline:g} s"
        return ApiError(f"no answer {within}", kind=FailureKind.TIMEOUT)
    if isinstance(error, ClientClosedError):
        return ApiError("the connection was closed by us", kind=FailureKind.LOST)
    causes = _causes_of(error)
    if isinstance(error, DecodeError) and "error reading a body from connection" not in causes:
        return ApiError("its answer cannot be decoded", kind=FailureKind.MALFORMED)
    words = next((words for sign, words in _IN_WORDS if sign in causes), "the connection broke")
    return ApiError(words, kind=FailureKind.UNREACHABLE)


def _causes_of(error: Exception) -> str:
    """Return all that ``error`` says of its causes, in lower case; never for people's eyes."""
    if not isinstance(error, DetailedPyreqwestError):
        return str(error).lower()
    causes = error.details["causes"] or []
    return "\n".join(cause["message"] for cause in causes).lower()


def _error(code: int, said: JsonObject, wish: Seconds | None) -> ApiError:
    kind = _kind_of(code, said.get("reason"))
    label = f"HTTP {code}" if kind is FailureKind.REFUSED else kind.value.replace("_", " ")
    message = said.get("message")
    if 300 <= code < 400:
        text = f"{label}: a redirect, which is not followed"
    elif isinstance(message, str) and _letters(message) not in {"", _letters(label)}:
        text = f"{label}: {_fit_for_logs(message, kind)}"
    else:
        text = label if kind is FailureKind.REFUSED else f"{label} (HTTP {code})"
    wishes = [wish for wish in (wish, _wish_of_details(said.get("details"))) if wish is not None]
    return ApiError(text, kind=kind, status=code, retry_after=max(wishes, default=None))


def _kind_of(code: int, reason: object) -> FailureKind:
    if isinstance(reason, str) and reason in _KIND_OF_REASON:
        return _KIND_OF_REASON[reason]
    if code in _KIND_OF_CODE:
        return _KIND_OF_CODE[code]
    # Without a code it is an ERROR event that says nothing: the server's trouble.
    return FailureKind.SERVER_ERROR if code >= 500 or code == 0 else FailureKind.REFUSED


_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""To the end where a quote is not closed."""
_ASSIGNED: Final = re.compile(r"(?<==)'[^']*'?")
"""Single quotes elsewhere are no values: those who deny put whole sentences in them."""
_REST: Final = re.compile(r"([{`]|, error found in #).*")
_DENIAL: Final = re.compile(r"\bwebhook\b|AdmissionPolicy\b", re.IGNORECASE)
_NAME_OF_WEBHOOK: Final = re.compile(
    r'(?:Internal error occurred: )?(?:admission|failed calling) webhook "[\w.-]{1,253}"'
)
"""As the API server begins what it has to say of a webhook."""
_URL: Final = re.compile(r'//([^\s"]*)')


def _fit_for_logs(message: str, kind: FailureKind) -> str:
    """Return the API server's message on one line of bounded length, without what may be secret."""
    line = " ".join(message[: 8 * LONGEST_MESSAGE].split())
    # Outside of quotes: a pod may be called so.
    if kind is FailureKind.INVALID or _DENIAL.search(_QUOTED.sub("", line)):
        line = _without_values(line)
    line = _URL.sub(_place, line)
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def _without_values(line: str) -> str:
    """Return ``line`` without what is quoted in it, which may be the object's. Who denied it stays."""
    named = _NAME_OF_WEBHOOK.match(line)
    begin = named.end() if named is not None else 0
    rest = _ASSIGNED.sub("…", _QUOTED.sub("…", line[begin:]))
    return line[:begin] + _REST.sub("…", rest)


def _place(url: re.Match[str]) -> str:
    """Return ``url`` without user, password, query and fragment."""
    # Up to the last sign: a password that nobody escaped may have any before.
    _, is_with_user, rest = url[1].rpartition("@")
    place, *more = re.split("[?#]", rest, maxsplit=1)
    return f"//{'…@' if is_with_user else ''}{place}{'?…' if more else ''}"


def _letters(text: str) -> str:
    """Return what is left of ``text`` when only its words count."""
    return re.sub(r"[\W_]", "", text[: 8 * LONGEST_MESSAGE]).casefold()


def _wish_of_details(details: object) -> Seconds | None:
    seconds: Any = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    return _bounded(seconds) if isinstance(seconds, int) and seconds > 0 else None


def _wish_of_header(headers: Mapping[str, str], now: Timestamp | None) -> Seconds | None:
    """Return the seconds that a Retry-After asks for, which is a number or a date."""
    wish = headers.get("retry-after", "").strip()
    if not wish:
        return None
    if wish.isascii() and wish.isdigit():
        return _bounded(int(wish[:9]))
    until = _date(wish)
    # By the server's own clock, if it shows it: ours may be another.
    since = _date(headers.get("date", "")) or now
    return _bounded(until - since) if until is not None and since is not None else None


def _bounded(seconds: float) -> Seconds:
    return Seconds(max(0.0, min(float(seconds), LONGEST_WISH)))


def _date(text: str) -> Timestamp | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return Timestamp((date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp())
