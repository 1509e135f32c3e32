import hashlib
import hmac


def request_signature(secret: str, timestamp: int, method: str, path: str, body: str) -> str:
    """The X-Signature of a request (docs/api-contract.md#signed-requests). The path has its query."""
    key = hashlib.sha256(secret.encode()).hexdigest()
    digest = hashlib.sha256(body.encode()).hexdigest()
    return hmac.new(key.encode(), f"{timestamp}|{method}|{path}|{digest}".encode(), hashlib.sha256).hexdigest()
