"""The API server's refusals: v1 Status objects, in the words that the real one uses."""

from __future__ import annotations

from http import HTTPStatus

from messages.pods import JsonObject
from tests.support.apiserver.paths import Kind


class StatusError(Exception):
    """A request that was refused, with the Status that says why."""

    def __init__(
        self, code: int, reason: str, message: str, details: JsonObject | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details or {},
            "code": code,
        }


def not_found(kind: Kind, name: str) -> StatusError:
    return StatusError(
        HTTPStatus.NOT_FOUND,
        "NotFound",
        f'{kind.qualified} "{name}" not found',
        _details(kind, name),
    )


def no_such_path() -> StatusError:
    return StatusError(
        HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource"
    )


def already_exists(kind: Kind, name: str) -> StatusError:
    return StatusError(
        HTTPStatus.CONFLICT,
        "AlreadyExists",
        f'{kind.qualified} "{name}" already exists',
        _details(kind, name),
    )


def conflict(kind: Kind, name: str, why: str) -> StatusError:
    return StatusError(
        HTTPStatus.CONFLICT,
        "Conflict",
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}',
        _details(kind, name),
    )


def invalid(kind: Kind, name: str, why: str) -> StatusError:
    return StatusError(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Invalid",
        f'{kind.name} "{name}" is invalid: {why}',
        _details(kind, name),
    )


def bad_request(why: str) -> StatusError:
    return StatusError(HTTPStatus.BAD_REQUEST, "BadRequest", why)


def forbidden(kind: Kind, name: str, why: str) -> StatusError:
    subject = f'{kind.qualified} "{name}"' if name else kind.qualified
    return StatusError(
        HTTPStatus.FORBIDDEN, "Forbidden", f"{subject} is forbidden: {why}", _details(kind, name)
    )


def expired(why: str) -> StatusError:
    return StatusError(HTTPStatus.GONE, "Expired", why)


def method_not_allowed() -> StatusError:
    return StatusError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


def _details(kind: Kind, name: str) -> JsonObject:
    return {"name": name, "group": kind.group, "kind": kind.plural}
