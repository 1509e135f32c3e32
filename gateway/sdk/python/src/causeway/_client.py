import http.client
import platform
import random
import re
import ssl
import time
import uuid
from datetime import datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import quote, urlencode, urlsplit

from ._errors import ApiError, CausewayError, ConnectionFailed
from ._json import decode, encode, instant
from ._key import Mode, key_mode
from ._operations import INTEGERS, Operations
from ._request import Listing, Operation, Request
from ._retry import retry_wait
from ._sign import request_signature
from ._version import VERSION

_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_KEY = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)


class Causeway(Operations):
    """A client of the Causeway API.

    It holds no state besides its options, and one serves all threads of a program.

    base_url     where the API is, such as https://api.example
    api_key      the secret of an API key, `sk_…`; public operations need none
    public_key   the public id of the same key, `pk_…`: with it each request is signed, and the secret never leaves
    mode         the mode that the key must have: a program that says `test` never moves money because of a wrong key
    timeout      seconds for one attempt
    max_retries  how often a request is repeated at most
    max_wait     the longest wait before a repetition, in seconds; a longer Retry-After ends the call
    max_answer   the most bytes of an answer
    user_agent   the name of your program, for the User-Agent
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: Optional[str] = None,
        public_key: Optional[str] = None,
        mode: Optional[Mode] = None,
        timeout: float = 30,
        max_retries: int = 3,
        max_wait: float = 60,
        max_answer: int = 64 << 20,
        user_agent: str = "",
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        base = urlsplit(base_url)
        if base.scheme not in ("http", "https") or not base.hostname:
            raise ValueError("base_url is no http or https URL")
        if base.username or base.password or base.query or base.fragment:
            raise ValueError("base_url holds more than scheme, host and path")
        #: The mode of the key, or None without one.
        self.mode: Optional[Mode] = None if api_key is None else key_mode(api_key, "sk")
        if public_key is not None and (self.mode is None or key_mode(public_key, "pk") != self.mode):
            raise ValueError("public_key and api_key are not of one mode")
        if mode is not None and mode != self.mode:
            raise ValueError(f"this client is for {mode} mode, and its key is {f'a {self.mode} key' if self.mode else 'missing'}")
        if self.mode == "live" and base.scheme != "https" and not _LOOPBACK.fullmatch(base.hostname):
            raise ValueError("a live key is sent over https only")
        self._host, self._port, self._prefix = base.hostname, base.port, base.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if base.scheme == "https" else None
        self._api_key, self._public_key = api_key, public_key
        self._timeout, self._max_retries, self._max_wait, self._max_answer = timeout, max_retries, max_wait, max_answer
        self._user_agent = f"causeway-sdk-python/{VERSION} python/{platform.python_version()} {user_agent}".rstrip()

    def _call(self, operation: Operation, request: Request) -> Any:
        if operation.key == "needed" and self._api_key is None:
            raise TypeError(f"{operation.method} {operation.path} needs an api_key")
        path = _target(operation.path, request)
        body = "" if request.body is None else encode(request.body)
        headers = {"User-Agent": self._user_agent, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        if operation.method == "POST" and operation.repeatable:
            key = str(uuid.uuid4()) if request.idempotency_key is None else request.idempotency_key
            if not _KEY.fullmatch(key):
                raise ValueError("an idempotency_key has 1 to 255 printable characters")
            headers["Idempotency-Key"] = key
        timeout = self._timeout if request.timeout is None else request.timeout
        attempt = 0
        while True:
            try:
                return self._once(operation, path, body, headers, timeout)
            except (ApiError, ConnectionFailed) as error:
                refused = error if isinstance(error, ApiError) else None
                wait = retry_wait(
                    refused.status if refused else None,
                    refused.code if refused else None,
                    refused.retry_after if refused else None,
                    repeatable=operation.repeatable,
                    attempt=attempt,
                    max_retries=self._max_retries if request.max_retries is None else request.max_retries,
                    max_wait=int(self._max_wait * 1000),
                    random=random.random(),
                )
                if wait is None:
                    raise
            time.sleep(wait / 1000)
            attempt += 1

    def _once(self, operation: Operation, path: str, body: str, fixed: Mapping[str, str], timeout: float) -> Any:
        """One attempt. Each is signed afresh: the API takes a signature once."""
        headers = dict(fixed)
        if operation.key != "none":
            headers.update(self._credential(operation.method, path, body))
        try:
            status, answered, raw = self._exchange(operation.method, path, body, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            why = f"no answer within {timeout} s" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
            raise ConnectionFailed(f"{operation.method} {operation.path}: {why}") from error
        answer: Any = None
        try:
            answer = decode(raw.decode(), INTEGERS)
        except (ValueError, RecursionError):
            pass  # something between the client and the API may answer in its own words; the status says enough
        good = 200 <= status < 300
        if good and isinstance(answer, dict):
            return answer
        error_shape = answer.get("error") if isinstance(answer, dict) and not good else None
        after = answered.get("retry-after", "")
        raise ApiError(status, error_shape, answered.get("x-request-id"), int(after) if _SECONDS.fullmatch(after) else None)

    def _exchange(self, method: str, path: str, body: str, headers: Mapping[str, str], timeout: float) -> Tuple[int, Dict[str, str], bytes]:
        """Sends a request over a connection of its own, and reads the answer until the time or the bound is reached.

        It follows no redirect: the key goes to no other host.
        """
        end = time.monotonic() + timeout
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        try:
            connection.request(method, self._prefix + path, body.encode() or None, {**headers, "Connection": "close"})
            socket = connection.sock
            socket.settimeout(_left(end))
            response = connection.getresponse()
            chunks: List[bytes] = []
            size = 0
            while not response.isclosed():
                socket.settimeout(_left(end))
                chunk = response.read1(1 << 16)
                if not chunk:
                    break
                size += len(chunk)
                if size > self._max_answer:
                    raise CausewayError(f"the answer has more than {self._max_answer} bytes")
                chunks.append(chunk)
            if response.length:  # read1 does not say that an answer was cut
                raise http.client.IncompleteRead(b"", response.length)
            return response.status, {name.lower(): value for name, value in response.getheaders()}, b"".join(chunks)
        finally:
            connection.close()

    def _credential(self, method: str, path: str, body: str) -> Dict[str, str]:
        if self._api_key is None:
            return {}
        if self._public_key is None:
            return {"Authorization": f"Bearer {self._api_key}"}
        timestamp = time.time_ns() // 1_000_000
        signature = request_signature(self._api_key, timestamp, method, path, body)
        return {"X-API-Key": self._public_key, "X-Timestamp": str(timestamp), "X-Signature": signature}

    def _pages(self, operation: Operation, listing: Listing, request: Request) -> Iterator[Any]:
        query: Dict[str, Any] = {name: value for name, value in (request.query or {}).items() if value is not None}
        by_offset = listing.offset and "offset" in query
        if listing.offset and not by_offset:
            query.setdefault("cursor", "")
        while True:
            answer = self._call(operation, Request(query=query, path=request.path, timeout=request.timeout, max_retries=request.max_retries))
            page = answer[listing.inside] if listing.inside else answer
            items = page[listing.items]
            pagination = page.get("pagination", page)
            yield from items
            if by_offset:
                if len(items) < pagination["limit"]:
                    return
                query["offset"] += len(items)
                continue
            following = pagination.get("nextCursor")
            if not pagination.get("hasMore") or not following:
                return
            if following == query.get("cursor"):
                raise CausewayError(f"{operation.path} repeats the cursor {following}")
            query["cursor"] = following


def _left(end: float) -> float:
    """The seconds until a moment."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _target(pattern: str, request: Request) -> str:
    """The path with its names and its query filled in."""
    for name, value in (request.path or {}).items():
        if not isinstance(value, str) or value in ("", ".", ".."):
            raise TypeError(f"{name} is missing")
        pattern = pattern.replace("{" + name + "}", quote(value, safe=""))
    query = [(name, _text(value)) for name, value in (request.query or {}).items() if value is not None]
    return pattern + "?" + urlencode(query) if query else pattern


def _text(value: Any) -> str:
    """A value of a query; several are separated by commas."""
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    return str(value)
