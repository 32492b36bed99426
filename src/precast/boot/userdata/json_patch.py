"""Applies a JSON patch (RFC 6902) to the configuration merged so far, for `#cloud-config-jsonp`."""

import copy
import json
from typing import Any

from precast.boot.userdata import issues

_MAX_OPERATIONS = 1000


def apply_patch(config: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the configuration with all operations applied; if one fails, none is. Raises InputError BOOT-309."""
    try:
        operations = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise issues.BAD_PATCH.error(problem=error) from None
    if not isinstance(operations, list) or len(operations) > _MAX_OPERATIONS:
        raise issues.BAD_PATCH.error(problem=f"it is not a list of at most {_MAX_OPERATIONS} operations")
    patched: Any = copy.deepcopy(config)
    for each in operations:
        try:
            patched = _apply_operation(patched, each)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise issues.BAD_PATCH.error(problem=f"{json.dumps(each)[:100]}: {error}") from None
    if not isinstance(patched, dict):
        raise issues.BAD_PATCH.error(problem="the result is not a mapping")
    return patched


def _apply_operation(whole: Any, operation: dict[str, Any]) -> Any:
    name, path = operation["op"], _parse_pointer(operation["path"])
    if name == "test":
        if _get(whole, path) != operation["value"]:
            raise ValueError("the value differs")
        return whole
    if name == "remove":
        return _remove(whole, path)
    if name == "add":
        return _add(whole, path, operation["value"])
    if name == "replace":
        _get(whole, path)
        return _add(_remove(whole, path) if path else whole, path, operation["value"])
    if name in ("move", "copy"):
        start = _parse_pointer(operation["from"])
        value = copy.deepcopy(_get(whole, start))
        return _add(_remove(whole, start) if name == "move" else whole, path, value)
    raise ValueError("there is no such operation")


def _parse_pointer(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError("a path begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _get(whole: Any, path: list[str]) -> Any:
    for step in path:
        whole = whole[int(step)] if isinstance(whole, list) else whole[step]
    return whole


def _add(whole: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    above, last = _get(whole, path[:-1]), path[-1]
    if isinstance(above, list):
        at = len(above) if last == "-" else int(last)
        if not 0 <= at <= len(above):
            raise IndexError("there is no such element")
        above.insert(at, value)
    else:
        above[last] = value
    return whole


def _remove(whole: Any, path: list[str]) -> Any:
    above, last = _get(whole, path[:-1]), path[-1]
    if isinstance(above, list):
        del above[int(last)]
    else:
        del above[last]
    return whole
