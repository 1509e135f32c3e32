import re
import zlib
from typing import Literal

Mode = Literal["live", "test"]

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM = re.compile(r"(sk|pk)_(live|test)_[0-9A-Za-z]{36}", re.ASCII)


def key_mode(key: str, kind: Literal["sk", "pk"]) -> Mode:
    """The mode of a key, from its own letters.

    Raises a ValueError for a text that is no key of this kind: the checksum finds a typo or a cut before the key is sent
    anywhere. The message never shows the key.
    """
    match = _FORM.fullmatch(key)
    if match is None or match[1] != kind or _checksum(key[:-6]) != key[-6:]:
        what = "secret of an API key (sk_live_… or sk_test_…)" if kind == "sk" else "public id of an API key (pk_live_… or pk_test_…)"
        raise ValueError(f"this is no {what}")
    return "live" if match[2] == "live" else "test"


def _checksum(text: str) -> str:
    """The CRC-32 (IEEE) of a text as six base62 digits."""
    rest = zlib.crc32(text.encode())
    digits = ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits = _ALPHABET[digit] + digits
    return digits
