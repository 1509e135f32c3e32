"""A client of the Causeway API."""

from ._client import Causeway
from ._errors import ApiError, CausewayError, ConnectionFailed, FieldError, WebhookError
from ._key import key_mode
from ._sign import request_signature
from ._version import VERSION as __version__
from ._webhook import verify_webhook

__all__ = [
    "ApiError",
    "Causeway",
    "CausewayError",
    "ConnectionFailed",
    "FieldError",
    "WebhookError",
    "key_mode",
    "request_signature",
    "verify_webhook",
    "__version__",
]
