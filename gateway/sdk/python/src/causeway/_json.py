import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, FrozenSet, Optional

#: Fields that hold whatever the merchant put there.
_FREE = frozenset({"metadata"})

#: More digits than any amount has, and a bound for exponents.
_MOST = 400

_WHOLE = re.compile(r"-?[0-9]+\Z")


class _Number(str):
    """A number as it was written."""


def _refused(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def decode(text: str, integers: FrozenSet[str]) -> Any:
    """Reads JSON without rounding a number.

    A number is a Decimal, unless it is one of the whole numbers that the API documents (`object.field` in integers), or a
    whole number inside metadata: these are ints.
    """
    tree = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_refused)
    return _read(tree, "", "", integers)


def _read(value: Any, outer: str, field: str, integers: Optional[FrozenSet[str]]) -> Any:
    if isinstance(value, _Number):
        whole = integers is None or f"{outer}.{field}" in integers
        if whole and _WHOLE.match(value) and len(value) <= _MOST:
            return int(value)
        try:
            return bounded(Decimal(value))
        except InvalidOperation as error:
            raise ValueError("a number has too many digits") from error
    if isinstance(value, list):
        return [_read(item, outer, field, integers) for item in value]
    if isinstance(value, dict):
        within = None if field in _FREE else integers
        return {key: _read(item, field, key, within) for key, item in value.items()}
    return value


def bounded(number: Decimal) -> Decimal:
    """The number, if it can be written in plain digits."""
    if not number.is_finite() or abs(number.adjusted()) > _MOST or len(number.as_tuple().digits) > _MOST:
        raise ValueError("a number is not finite, or has too many digits")
    return number


def encode(value: Any) -> str:
    """Writes JSON: Decimals digit by digit, times as the API writes them, and no float."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, Decimal):
        return format(bounded(value), "f")
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime):
        return json.dumps(instant(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_name(key)}:{encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ",".join(encode(item) for item in value) + "]"
    if isinstance(value, float):
        raise TypeError(f'{value} has no exact decimal value: write Decimal("0.1")')
    raise TypeError(f"a request cannot hold a {type(value).__name__}")


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError("the names of a request's fields are texts")
    return json.dumps(key, ensure_ascii=False)


def instant(time: datetime) -> str:
    """A time as the API writes it."""
    if time.tzinfo is None:
        raise TypeError("a time needs a time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
