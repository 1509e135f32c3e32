from dataclasses import dataclass
from typing import Any, Literal, Optional, Sequence


class CausewayError(Exception):
    """Every error of this package, except TypeError and ValueError for wrong arguments."""


@dataclass(frozen=True)
class FieldError:
    """A field that a request got wrong."""

    field: str
    message: str


class ApiError(CausewayError):
    """The API refused a request. `code` never changes its meaning; messages may.

    `request_id` is what support needs to find the request, and `retry_after` the seconds after which the API wants to be
    asked again, if it said so. An answer that is not the API's has the code `unreadable_answer`.
    """

    def __init__(self, status: int, error: Any, request_id: Optional[str], retry_after: Optional[int]) -> None:
        shape = error if isinstance(error, dict) and isinstance(error.get("code"), str) and isinstance(error.get("message"), str) else None
        self.status = status
        self.code: str = shape["code"] if shape else "unreadable_answer"
        self.message: str = shape["message"] if shape else f"the answer with status {status} is not Causeway's"
        self.request_id: Optional[str] = shape.get("requestId", request_id) if shape else request_id
        given = (shape or {}).get("fields")
        self.fields: Sequence[FieldError] = tuple(
            FieldError(str(f.get("field", "")), str(f.get("message", "")))
            for f in (given if isinstance(given, list) else ())
            if isinstance(f, dict)
        )
        self.retry_after = retry_after
        super().__init__(f"{self.message} ({status} {self.code}, request {self.request_id})")


class ConnectionFailed(CausewayError):
    """No answer came: the connection failed or took too long. Whether the request had an effect is not known."""


class WebhookError(CausewayError):
    """A webhook is not from Causeway, or is too old. Answer it with status 400 and do nothing."""

    def __init__(self, reason: Literal["unsigned", "stale", "forged"], message: str) -> None:
        self.reason = reason
        super().__init__(message)
