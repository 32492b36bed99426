"""Reads the documents of sources: untrusted JSON and YAML, bounded in size, depth and type.

Any server may answer at the address of a data source. Every problem is an error that names the document; a value of an unexpected type is
never passed on.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from precast.boot.capabilities import Capability
from precast.boot.sources import issues

T = TypeVar("T")
# The YAML loader reads about 200 KB per second; JSON is much faster.
MAX_YAML_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_NAME = 253
_KINDS = {str: "a text", dict: "a map", list: "a list", int: "a number", bool: "true or false", type(None): "nothing"}


def read_text(where: str, data: bytes) -> str:
    """Decode UTF-8. Raises InputError BOOT-104 if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise issues.BAD_DOCUMENT.error(where=where, reason="it is not UTF-8") from None


def read_json(where: str, data: bytes) -> Any:
    """Parse JSON. Raises InputError BOOT-104."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise issues.BAD_DOCUMENT.error(where=where, reason=f"it is not JSON ({error})") from None
    return _check_depth(where, value)


def read_yaml(where: str, data: bytes) -> Any:
    """Parse YAML; JSON, which is YAML, is tried first because it is faster. Raises InputError BOOT-101, BOOT-104."""
    text = read_text(where, data)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _check_depth(where, msgspec.json.decode(data))
        except (msgspec.MsgspecError, RecursionError):
            pass
    if len(data) > MAX_YAML_BYTES:
        raise issues.TOO_LARGE.error(where=where, limit=MAX_YAML_BYTES)
    from precast.agent.facts import yaml_values  # imported late: sources that use JSON do not need it

    try:
        value = yaml_values.load(text)
    except yaml_values.BAD_YAML as error:
        reason = str(getattr(error, "problem", None) or error).strip().partition("\n")[0]
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark is not None else ""
        raise issues.BAD_DOCUMENT.error(where=where, reason=f"it is not YAML ({reason}{place})") from None
    return _check_depth(where, value)


def read_map(where: str, data: bytes) -> dict[str, Any]:
    """Parse a document that must be a map; an empty document counts as an empty map."""
    value = read_yaml(where, data)
    return {} if value is None else expect(where, value, dict)


def expect(where: str, value: Any, kind: type[T]) -> T:
    """Return the value if it has the expected type. Raises InputError BOOT-105."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        got = _KINDS.get(type(value), type(value).__name__)
        raise issues.WRONG_TYPE.error(where=where, wanted=_KINDS.get(kind, kind.__name__), got=got)
    return value


def read_name(where: str, value: Any) -> str:
    """Return an instance id, host name or zone: a short text of one line. Numbers are converted to text."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else expect(where, value, str).strip()
    if not text or len(text) > MAX_NAME or not text.isprintable():
        got = "empty" if not text else f"{len(text)} characters long" if len(text) > MAX_NAME else "not printable"
        raise issues.WRONG_TYPE.error(where=where, wanted="one short line", got=got)
    return text


def read_optional_name(where: str, value: Any) -> str | None:
    return None if value in (None, "") else read_name(where, value)


def read_keys(where: str, value: Any) -> tuple[str, ...]:
    """Return public keys from any of their formats: lines of a text, a list, or a map by name (of texts, lists or `openssh-key`)."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        lines = [line.strip() for line in value.splitlines()]
        return tuple(line for line in lines if line and not line.startswith("#"))
    if isinstance(value, Mapping):
        return read_keys(
            where, [each.get("openssh-key") if isinstance(each, dict) else each for each in value.values()]
        )
    keys = [key for each in expect(where, value, list) for key in read_keys(where, each)]
    return tuple(dict.fromkeys(keys))


def decode_bytes(where: str, value: Any, encoding: str = "") -> bytes:
    """Decode user data inside a document: a text, in base64 if `encoding` says so. Raises InputError BOOT-104, BOOT-105."""
    data = value if isinstance(value, bytes) else expect(where, value, str).encode()
    if encoding in ("", "plain"):
        return data
    if encoding in ("base64", "b64"):
        try:
            return base64.b64decode(b"".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            raise issues.BAD_DOCUMENT.error(where=where, reason="it is not base64") from None
    raise issues.BAD_DOCUMENT.error(where=where, reason=f"its encoding {encoding!r} is not known")


def _check_depth(where: str, value: Any) -> Any:
    """Return the value. Raises InputError BOOT-104 if it is nested too deeply for recursive functions."""
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
    """Return a function that converts a platform's network metadata to a network document, on demand.

    It raises InputError BOOT-104 if the metadata is invalid or has no device: rendered, it would leave the machine without a network.
    """

    async def convert_now() -> dict[str, Any]:
        try:
            document = convert(value)
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            raise issues.BAD_DOCUMENT.error(
                where=where, reason=f"it is not a valid network of this platform ({error})"
            ) from None
        if not any(document[key] for key in document if key != "version"):
            raise issues.BAD_DOCUMENT.error(where=where, reason="it contains no network device")
        return document

    return convert_now


def keep_known_values(where: str, given: Mapping[Capability, Any]) -> dict[Capability, Any]:
    """Return the non-empty values; names are checked."""
    known: dict[Capability, Any] = {}
    for capability, value in given.items():
        if capability in _NAMES:
            value = read_optional_name(f"{capability.value} in {where}", value)
        if value not in (None, "", b"", (), {}):
            known[capability] = value
    return known


_NAMES = frozenset(
    {Capability.INSTANCE_ID, Capability.HOSTNAME, Capability.ZONE, Capability.REGION, Capability.PASSWORD_GET}
)
