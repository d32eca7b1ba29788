"""What can go wrong with a request, as exceptions that know whether and how to try again.

HTTP statuses and transport errors become one small family of errors, each chained to its cause. They leave
this room only as the value that actors tell each other (``ApiFailure``).

The texts are for logs and pages. Of an answer, only the message of a Status is passed on: on one line of
limited length, its URLs without user, password and query. If the API server, a webhook or an admission
policy refuses an object, everything in quotes and everything after a brace is cut out: it may be the value
of an environment variable. What a webhook puts into its sentence without quotes cannot be recognised and is
passed on.
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
"""How many characters of the API server's own message a sentence contains."""
LONGEST_RETRY_AFTER: Final = Seconds(60.0)
"""The longest Retry-After that is honoured. API servers ask for a few seconds. More than this comes from a
gateway, or from a date while this machine's clock was never set."""

RETRY: Final[Mapping[FailureKind, Retry]] = {
    FailureKind.UNREACHABLE: Retry.AFTER_DELAY,
    FailureKind.TIMEOUT: Retry.AFTER_DELAY,
    FailureKind.CREDENTIALS: Retry.AFTER_DELAY,
    # Tokens rotate, and roles and bindings are often created later than whoever needs them.
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
"""Whether a failed request may be tried again. Only its kind decides."""

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
"""Parts of pyreqwest's error causes, in lower case, and what they mean. The first match counts."""
_OF_DIALLING: Final = frozenset(words for _, words in _IN_WORDS[:5])
"""These concern the machine that is dialled. With a proxy that is the proxy."""


class ApiError(Exception):
    """A request got no object. The text says why, without server and user."""

    def __init__(
        self,
        text: str,
        *,
        kind: FailureKind,
        status: int = 0,
        retry_after: Seconds | None = None,
    ) -> None:
        """Keep what is known. ``status`` is 0 when there was no answer."""
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

        ``attempt`` says what was attempted: ``create pod default/web``. ``access`` is None when the
        credentials could not be read.
        """
        where = f" at {access.server} as {access.user}" if access is not None else ""
        return ApiFailure(
            kind=self.kind,
            retry=self.retry,
            sentence=f"cannot {attempt}{where}: {self._text_with_proxy(access)}",
            status=self.status,
            retry_after=self.retry_after,
        )

    def _text_with_proxy(self, access: Access | None) -> str:
        """Return the text. With a proxy, say so if the proxy is meant or on the way."""
        proxy = access.proxy_place if access is not None else ""
        if proxy and self.text in _OF_DIALLING:
            return f"the proxy {proxy}: {self.text}"
        if proxy and self.kind is FailureKind.TIMEOUT and not self.status:
            return f"{self.text}, by way of the proxy {proxy}"
        return self.text


def error_of_answer(
    status: int, headers: Mapping[str, str], body: bytes, now: Timestamp | None = None
) -> ApiError:
    """Return the error for an answer other than 2xx.

    The keys of ``headers`` ignore case, or are in lower case. ``body`` is read only if it is a v1 Status: a
    proxy on the way may send anything. ``now`` is needed for a Retry-After with a date from a server that
    does not send its own Date; without it such a Retry-After is ignored.
    """
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    said: JsonObject = parsed if isinstance(parsed, dict) else {}
    return _error(status, said, _retry_after_of_header(headers, now))


def error_of_status(status: JsonObject) -> ApiError:
    """Return the error for a v1 Status: the object of an ERROR event of a watch."""
    code = status.get("code")
    return _error(code if isinstance(code, int) else 0, status, None)


def error_of_transport(error: Exception, deadline: Seconds | None = None) -> ApiError:
    """Return the error for a request that got no answer.

    Takes a ``CredentialsError`` too. None of pyreqwest's own texts is passed on, since they contain URLs.
    ``deadline`` is what the request was given, in seconds.
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
    """Return the texts of all causes of ``error``, in lower case. Never show them to people."""
    if not isinstance(error, DetailedPyreqwestError):
        return str(error).lower()
    causes = error.details["causes"] or []
    return "\n".join(cause["message"] for cause in causes).lower()


def _error(code: int, said: JsonObject, retry_after: Seconds | None) -> ApiError:
    kind = _kind_of(code, said.get("reason"))
    label = f"HTTP {code}" if kind is FailureKind.REFUSED else kind.value.replace("_", " ")
    message = said.get("message")
    if 300 <= code < 400:
        text = f"{label}: a redirect, which is not followed"
    elif isinstance(message, str) and _letters(message) not in {"", _letters(label)}:
        text = f"{label}: {_fit_for_logs(message, kind)}"
    else:
        text = label if kind is FailureKind.REFUSED else f"{label} (HTTP {code})"
    found = (retry_after, _retry_after_of_details(said.get("details")))
    retry_afters = [seconds for seconds in found if seconds is not None]
    return ApiError(text, kind=kind, status=code, retry_after=max(retry_afters, default=None))


def _kind_of(code: int, reason: object) -> FailureKind:
    if isinstance(reason, str) and reason in _KIND_OF_REASON:
        return _KIND_OF_REASON[reason]
    if code in _KIND_OF_CODE:
        return _KIND_OF_CODE[code]
    # An ERROR event without a code counts as an error of the server.
    return FailureKind.SERVER_ERROR if code >= 500 or code == 0 else FailureKind.REFUSED


_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.?)*"?')
"""An unclosed quote reaches to the end."""
_ASSIGNED: Final = re.compile(r"(?<==)'[^']*'?")
"""Only after an equals sign are single quotes values: elsewhere policies quote whole sentences with them."""
_REST: Final = re.compile(r"([{`]|, error found in #).*")
_DENIAL: Final = re.compile(r"\bwebhook\b|AdmissionPolicy\b", re.IGNORECASE)
_NAME_OF_WEBHOOK: Final = re.compile(
    r'(?:Internal error occurred: )?(?:admission|failed calling) webhook "[\w.-]{1,253}"'
)
"""How the API server begins a message about a webhook."""
_URL: Final = re.compile(r'//([^\s"]*)')


def _fit_for_logs(message: str, kind: FailureKind) -> str:
    """Return the API server's message on one line of limited length, without what may be secret."""
    line = " ".join(message[: 8 * LONGEST_MESSAGE].split())
    # Outside of quotes: an object may have that name.
    if kind is FailureKind.INVALID or _DENIAL.search(_QUOTED.sub("", line)):
        line = _without_values(line)
    line = _URL.sub(_bare_url, line)
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def _without_values(line: str) -> str:
    """Return ``line`` without its quoted parts, which may be values. The name of the webhook stays."""
    named = _NAME_OF_WEBHOOK.match(line)
    begin = named.end() if named is not None else 0
    rest = _ASSIGNED.sub("…", _QUOTED.sub("…", line[begin:]))
    return line[:begin] + _REST.sub("…", rest)


def _bare_url(url: re.Match[str]) -> str:
    """Return ``url`` without user, password, query and fragment."""
    # Up to the last @: an unescaped password may contain some.
    _, is_with_user, rest = url[1].rpartition("@")
    place, *more = re.split("[?#]", rest, maxsplit=1)
    return f"//{'…@' if is_with_user else ''}{place}{'?…' if more else ''}"


def _letters(text: str) -> str:
    """Return the letters and digits of ``text``, to compare words only."""
    return re.sub(r"[\W_]", "", text[: 8 * LONGEST_MESSAGE]).casefold()


def _retry_after_of_details(details: object) -> Seconds | None:
    seconds: Any = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    return _bounded(seconds) if isinstance(seconds, int) and seconds > 0 else None


def _retry_after_of_header(headers: Mapping[str, str], now: Timestamp | None) -> Seconds | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return _bounded(int(value[:9]))
    until = _date(value)
    # By the server's own clock, if it sends it: this machine's clock may be wrong.
    since = _date(headers.get("date", "")) or now
    return _bounded(until - since) if until is not None and since is not None else None


def _bounded(seconds: float) -> Seconds:
    return Seconds(max(0.0, min(float(seconds), LONGEST_RETRY_AFTER)))


def _date(text: str) -> Timestamp | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return Timestamp((date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp())
