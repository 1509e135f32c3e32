from dataclasses import dataclass
from typing import Any, Literal, Mapping, Optional


@dataclass(frozen=True)
class Operation:
    """What is known of an operation of the API."""

    method: str
    path: str
    #: Whether it takes an API key.
    key: Literal["needed", "optional", "none"]
    #: It may be sent again: a GET, or a POST with an Idempotency-Key.
    repeatable: bool


@dataclass(frozen=True)
class Listing:
    """The fields of an answer that make a page, and whether the list is also read by offset."""

    inside: str
    items: str
    offset: bool


@dataclass(frozen=True)
class Request:
    """One request."""

    path: Optional[Mapping[str, str]] = None
    query: Optional[Mapping[str, Any]] = None
    body: Optional[Mapping[str, Any]] = None
    idempotency_key: Optional[str] = None
    timeout: Optional[float] = None
    max_retries: Optional[int] = None
