"""`lookup_options`: how the values of a key are merged and what they become, by key or by a pattern that it matches."""

import re
from typing import Any, Final

from precast.lang.hiera import issues
from precast.lang.hiera.merging import HASHES
from precast.lang.values.core import Hash
from precast.lang.values.regexps import compile_regexp

_NONE: Final = Hash()


class KeyOptions:
    """The options of one module's keys, or of all keys without a module. A name comes before a pattern."""

    def __init__(self, names: Hash, patterns: tuple[tuple[re.Pattern[str], Any], ...]) -> None:
        self._names = names
        self._patterns = patterns
        self._found: dict[str, Hash] = {}

    @staticmethod
    def of_hash(options: Hash | None) -> "KeyOptions":
        """Raises HIERA-044 for a key that is no string, and what is wrong with a pattern."""
        names, patterns = Hash(), []
        for name, value in (options or _NONE).items():
            if not isinstance(name, str):
                raise issues.BAD_OPTIONS.error(reason=f"lookup_options has the key {name}, which is no string")
            if name.startswith("^"):
                patterns.append((compile_regexp(name), value))
            else:
                names = names.merged({name: value})
        return KeyOptions(names, tuple(patterns))

    def of(self, root: str) -> Hash:
        found = self._found.get(root)
        if found is None:
            found = self._found[root] = self._searched(root)
        return found

    def _searched(self, root: str) -> Hash:
        found = self._names.get(root)
        if found is None:
            found = next((value for pattern, value in self._patterns if pattern.search(root)), _NONE)
        if isinstance(found, Hash):
            return found
        if found is None or isinstance(found, str):
            return _NONE
        raise issues.BAD_OPTIONS.error(reason=f"lookup_options for '{root}' must be a hash")


def validated(options: Any, module: str | None) -> Hash:
    """The options of a layer; those of a module are for its own keys only. Raises HIERA-044."""
    if not isinstance(options, Hash):
        raise issues.BAD_OPTIONS.error(reason="value of lookup_options must be a hash")
    for name in options if module is not None else ():
        if str(name).startswith(f"^{module}::") or str(name).startswith(f"{module}::"):
            continue
        what = "patterns must match a key starting" if str(name).startswith("^") else "keys must start"
        raise issues.BAD_OPTIONS.error(reason=f"all lookup_options {what} with module name '{module}'")
    return options


def combined(found: list[Hash]) -> Hash | None:
    """The options of all layers; the first that names a key counts."""
    if not found:
        return None
    options = found[0]
    for each in found[1:]:
        options = HASHES.merge(options, each)
    return options
