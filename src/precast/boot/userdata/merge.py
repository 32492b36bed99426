"""Merges one cloud-config into another, by the rules that `merge_how` selects.

The rules are cloud-init's, including the surprising ones: by default a later part replaces whole keys of an earlier one. The type of the
older value determines how two values are merged.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.boot.userdata import issues

_WORD = re.compile(r"([a-z_][a-z0-9_]*)\((.*?)\)")
_LIST_METHODS = ("append", "prepend", "replace", "no_replace")


class MergeRules(NamedTuple):
    """The settings by type of value; None for a type: the older value stays."""

    dicts: frozenset[str] | None = None
    lists: frozenset[str] | None = None
    texts: frozenset[str] | None = None


def parse_rules(given: Any) -> MergeRules | None:
    """Parse a document's merge rules in any of their formats; None if there are none. Raises InputError BOOT-303."""
    if given is None or given == "":
        return None
    words = _parse_text(given) if isinstance(given, str) else _parse_list(given)
    if not words:
        return None
    rules: dict[str, frozenset[str]] = {}
    for name, settings in words:
        if name not in ("dict", "list", "str"):
            raise issues.BAD_MERGE.error(how=name)
        rules.setdefault(name, settings)
    return MergeRules(rules.get("dict"), rules.get("list"), rules.get("str"))


def _parse_text(text: str) -> list[tuple[str, frozenset[str]]]:
    words = []
    for each in text.lower().replace("-", "_").split("+"):
        word = each.strip()
        if not word:
            continue
        match = _WORD.fullmatch(word)
        if match is None:
            raise issues.BAD_MERGE.error(how=word)
        words.append((match[1], frozenset(part.strip() for part in match[2].split(",") if part.strip())))
    return words


def _parse_list(given: Any) -> list[tuple[str, frozenset[str]]]:
    if not isinstance(given, list):
        raise issues.BAD_MERGE.error(how=given)
    words = []
    for each in given:
        if isinstance(each, dict):
            name, settings = each.get("name"), each.get("settings", [])
        elif isinstance(each, list) and each:
            name, settings = each[0], each[1:]
        else:
            raise issues.BAD_MERGE.error(how=each)
        if not isinstance(name, str) or not isinstance(settings, list):
            raise issues.BAD_MERGE.error(how=each)
        words.append((name.replace("-", "_").strip(), frozenset(map(str, settings))))
    return words


# The rules of a part that has none of its own.
DEFAULT = MergeRules(frozenset({"replace"}), frozenset(), frozenset())


def fill(over: Mapping[Any, Any], under: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return `over` with its missing keys filled from `under`, recursively in mappings. Neither is modified."""
    filled = {**under, **over}
    for key in over.keys() & under.keys():
        if isinstance(over[key], dict) and isinstance(under[key], dict):
            filled[key] = fill(over[key], under[key])
    return filled


def merge(old: Any, new: Any, how: MergeRules) -> Any:
    """Return the older value with the newer one merged into it. Neither is modified."""
    if isinstance(old, dict) and how.dicts is not None:
        return _merge_dicts(old, new, how, how.dicts) if isinstance(new, dict) else old
    if isinstance(old, list) and how.lists is not None:
        return _merge_lists(old, new, how, how.lists)
    if isinstance(old, str) and how.texts is not None:
        return old + new if "append" in how.texts and isinstance(new, str) else new
    return old


def _merge_dicts(
    old: Mapping[Any, Any], new: Mapping[Any, Any], how: MergeRules, settings: frozenset[str]
) -> dict[Any, Any]:
    replaces = "replace" in settings
    merged = dict(old)
    for key, value in new.items():
        if key not in merged:
            merged[key] = value
        elif value is None and "allow_delete" in settings:
            del merged[key]
        elif replaces:
            merged[key] = value
        elif isinstance(value, dict) or _is_recursive(value, settings):
            merged[key] = merge(merged[key], value, how)
    return merged


def _merge_lists(old: Sequence[Any], new: Any, how: MergeRules, settings: frozenset[str]) -> Any:
    method = next((each for each in _LIST_METHODS if each in settings), "replace")
    if method == "replace" and not isinstance(new, list):
        return new
    if method == "no_replace" or not isinstance(new, list | dict | str):
        return list(old)
    if method == "prepend":
        return [*new, *old]  # of a mapping its keys, like cloud-init
    if method == "append":
        return [*old, *new]
    pairs = zip(old, new, strict=False)
    met = [merge(before, after, how) if _is_recursive(after, settings) else after for before, after in pairs]
    return [*met, *old[len(met) :]]


def _is_recursive(value: Any, settings: frozenset[str]) -> bool:
    if isinstance(value, list):
        return not settings.isdisjoint({"recurse_array", "recurse_list"})
    if isinstance(value, str):
        return "recurse_str" in settings
    return isinstance(value, dict) and "recurse_dict" in settings
