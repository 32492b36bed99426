"""Reads what sources say: JSON and YAML of strangers, bounded in size, depth and type.

What comes from a data source may come from whoever answers at its address. Everything wrong is one error that names the document; a
value of another type than it should have is never passed on.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from precast.boot.capabilities import Capability
from precast.boot.sources import issues

T = TypeVar("T")
# The loader of YAML works through about 200 KB in a second; JSON is read at once.
MAX_YAML_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_NAME = 253
_KINDS = {str: "a text", dict: "a map", list: "a list", int: "a number", bool: "true or false", type(None): "nothing"}


def read_text(where: str, data: bytes) -> str:
    """Raises InputError BOOT-104 if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise issues.BAD_DOCUMENT.error(where=where, reason="it is not UTF-8") from None


def read_json(where: str, data: bytes) -> Any:
    """Raises InputError BOOT-104."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise issues.BAD_DOCUMENT.error(where=where, reason=f"it is no JSON ({error})") from None
    return _check_depth(where, value)


def read_yaml(where: str, data: bytes) -> Any:
    """YAML, or JSON, which is YAML and read faster. Raises InputError BOOT-101, BOOT-104."""
    text = read_text(where, data)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _check_depth(where, msgspec.json.decode(data))
        except (msgspec.MsgspecError, RecursionError):
            pass
    if len(data) > MAX_YAML_BYTES:
        raise issues.TOO_LARGE.error(where=where, limit=MAX_YAML_BYTES)
    from precast.agent.facts import yaml_values  # a source that speaks JSON has no need of it

    try:
        value = yaml_values.load(text)
    except yaml_values.BAD_YAML as error:
        reason = str(getattr(error, "problem", None) or error).strip().partition("\n")[0]
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark is not None else ""
        raise issues.BAD_DOCUMENT.error(where=where, reason=f"it is no YAML ({reason}{place})") from None
    return _check_depth(where, value)


def read_map(where: str, data: bytes) -> dict[str, Any]:
    """A document that is a map; an empty one counts as an empty map."""
    value = read_yaml(where, data)
    return {} if value is None else expect(where, value, dict)


def expect(where: str, value: Any, kind: type[T]) -> T:
    """The value, if it is what it should be. Raises InputError BOOT-105."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        got = _KINDS.get(type(value), type(value).__name__)
        raise issues.WRONG_TYPE.error(where=where, wanted=_KINDS.get(kind, kind.__name__), got=got)
    return value


def read_name(where: str, value: Any) -> str:
    """An instance id, host name or zone: a short text of one line. Numbers are meant as texts."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else expect(where, value, str).strip()
    if not text or len(text) > MAX_NAME or not text.isprintable():
        got = "empty" if not text else f"{len(text)} characters long" if len(text) > MAX_NAME else "not printable"
        raise issues.WRONG_TYPE.error(where=where, wanted="one short line", got=got)
    return text


def read_optional_name(where: str, value: Any) -> str | None:
    return None if value in (None, "") else read_name(where, value)


def read_keys(where: str, value: Any) -> tuple[str, ...]:
    """Public keys, however they are given: lines of a text, a list, or a map by name (of texts, lists or `openssh-key`)."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        lines = [line.strip() for line in value.splitlines()]
        return tuple(line for line in lines if line and not line.startswith("#"))
    if isinstance(value, Mapping):
        return read_keys(
            where, [each.get("openssh-key") if isinstance(each, dict) else each for each in value.values()]
        )
    found = [key for each in expect(where, value, list) for key in read_keys(where, each)]
    return tuple(dict.fromkeys(found))


def decode_bytes(where: str, value: Any, encoding: str = "") -> bytes:
    """User data that stands in a document: a text, in base64 if it says so. Raises InputError BOOT-104, BOOT-105."""
    data = value if isinstance(value, bytes) else expect(where, value, str).encode()
    if encoding in ("", "plain"):
        return data
    if encoding in ("base64", "b64"):
        try:
            return base64.b64decode(b"".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            raise issues.BAD_DOCUMENT.error(where=where, reason="it is no base64") from None
    raise issues.BAD_DOCUMENT.error(where=where, reason=f"its encoding {encoding!r} is not known")


def _check_depth(where: str, value: Any) -> Any:
    """Raises InputError BOOT-104 if it is nested too deep for whoever walks through it later."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            below
            for each in level
            if isinstance(each, dict | list)
            for below in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return value
    raise issues.BAD_DOCUMENT.error(where=where, reason=f"it is nested more than {MAX_DEPTH} deep")


def convert_lazily(
    where: str, convert: Callable[[Any], dict[str, Any]], value: Any
) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A network document made from what a platform says, when somebody wants it.

    Raises InputError BOOT-104 if that is wrong, or names no device: written down, it would leave the machine without any.
    """

    async def convert_now() -> dict[str, Any]:
        try:
            found = convert(value)
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            raise issues.BAD_DOCUMENT.error(
                where=where, reason=f"it is no network of this platform ({error})"
            ) from None
        if not any(found[key] for key in found if key != "version"):
            raise issues.BAD_DOCUMENT.error(where=where, reason="it names no network device")
        return found

    return convert_now


def keep_known_values(where: str, given: Mapping[Capability, Any]) -> dict[Capability, Any]:
    """Those of the values that there are; names are checked, and empty texts are none."""
    found: dict[Capability, Any] = {}
    for capability, value in given.items():
        if capability in _NAMES:
            value = read_optional_name(f"{capability.value} in {where}", value)
        if value not in (None, "", b"", (), {}):
            found[capability] = value
    return found


_NAMES = frozenset(
    {Capability.INSTANCE_ID, Capability.HOSTNAME, Capability.ZONE, Capability.REGION, Capability.PASSWORD_GET}
)
