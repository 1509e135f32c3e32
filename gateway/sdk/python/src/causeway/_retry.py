from typing import Optional

#: The first wait, which doubles with each repetition up to the longest one of its own accord, in milliseconds.
_FIRST = 500
_LONGEST = 8_000


def retry_wait(
    status: Optional[int],
    code: Optional[str],
    retry_after: Optional[int],
    *,
    repeatable: bool,
    attempt: int,
    max_retries: int,
    max_wait: int,
    random: float,
) -> Optional[int]:
    """How many milliseconds to wait before the request is sent again, or None if it must not be. No status: no answer came.

    A repeatable request (a GET, or a POST with an Idempotency-Key) is sent again when no answer came, and when the answer
    says that later may be better. Any other request is sent again only where the limits refused it, before it had any
    effect. The wait is never shorter than Retry-After, and random, so that many clients do not return at once.
    """
    if attempt >= max_retries or not _may_repeat(status, code, repeatable):
        return None
    half = min(_LONGEST, _FIRST * 2**attempt) // 2
    least = half if retry_after is None else retry_after * 1000
    wait = least + int(random * half)
    return None if wait > max_wait else wait


def _may_repeat(status: Optional[int], code: Optional[str], repeatable: bool) -> bool:
    if status == 429:
        return True
    if not repeatable:
        return False
    return status in (None, 502, 503, 504) or (status == 409 and code == "idempotency_in_progress")
