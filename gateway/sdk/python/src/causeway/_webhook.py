import base64
import binascii
import hashlib
import hmac
import re
import time
from typing import List, Mapping, Optional, Sequence, Union, cast

from ._errors import WebhookError
from ._json import decode
from ._operations import INTEGERS
from .types import WebhookEvent

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


def verify_webhook(
    body: Union[bytes, str],
    headers: Mapping[str, str],
    secrets: Union[str, Sequence[str]],
    *,
    tolerance: int = 300,
    now: Optional[float] = None,
) -> WebhookEvent:
    """Verifies a webhook (Standard Webhooks 1.0) and returns its event. Raises a WebhookError for one that is not genuine.

    `body` is the raw body, byte for byte as it came; a framework that has parsed it must be asked for the raw one.
    `secrets` is the `whsec_…` of the endpoint or of the merchant, or several while one is being replaced. `tolerance` is how
    many seconds the time of the webhook may be off, and `now` the present time in seconds, for tests.
    """
    if not isinstance(body, (bytes, str)):
        raise TypeError("verify_webhook needs the raw body, bytes or a str, and not a parsed object")
    keys = [_secret_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("verify_webhook needs at least one secret")
    named = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (named.get(name, "") for name in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not event_id or not _SECONDS.fullmatch(timestamp) or not signatures:
        raise WebhookError("unsigned", "it lacks webhook-id, webhook-timestamp or webhook-signature")
    raw = body.encode() if isinstance(body, str) else body
    given = [one for signature in signatures.split(" ") for one in _signature(signature)]
    signed = f"{event_id}.{timestamp}.".encode() + raw
    genuine = False
    for key in keys:
        want = hmac.new(key, signed, hashlib.sha256).digest()
        genuine = any([hmac.compare_digest(one, want) for one in given]) or genuine
    if not genuine:
        raise WebhookError("forged", "no signature fits the body and a secret")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise WebhookError("stale", f"its time is more than {tolerance} seconds off")
    return cast(WebhookEvent, decode(raw.decode(), INTEGERS))


def _secret_key(secret: str) -> bytes:
    text = secret[len("whsec_") :] if secret.startswith("whsec_") else ""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("a webhook secret is whsec_ and base64")
    return key


def _signature(signature: str) -> List[bytes]:
    """The bytes of a `v1,…` signature; signatures of other versions are passed over."""
    if not signature.startswith("v1,"):
        return []
    try:
        return [base64.b64decode(signature[3:], validate=True)]
    except (binascii.Error, ValueError):
        return []
