"""`lookup_options`: how the values of a key are merged and converted, by key or by a pattern that matches it."""

import re
from typing import Any, Final

from precast.lang.hiera import issues
from precast.lang.hiera.merge_strategies import HASHES
from precast.lang.values.base import Hash
from precast.lang.values.regexps import compile_regexp

_NONE: Final = Hash()


class KeyOptions:
    """The options of one module's keys, or of all keys without a module. An exact name precedes a pattern."""

    def __init__(self, names: Hash, patterns: tuple[tuple[re.Pattern[str], Any], ...]) -> None:
        self._names = names
        self._patterns = patterns
        self._by_root: dict[str, Hash] = {}

    @staticmethod
    def of_hash(options: Hash | None) -> "KeyOptions":
        """Raises HIERA-044 for a key that is not a string, and the error of an invalid pattern."""
        names, patterns = Hash(), []
        for name, value in (options or _NONE).items():
            if not isinstance(name, str):
                raise issues.BAD_OPTIONS.error(reason=f"lookup_options has the key {name}, which is not a string")
            if name.startswith("^"):
                patterns.append((compile_regexp(name), value))
            else:
                names = names.merged({name: value})
        return KeyOptions(names, tuple(patterns))

    def of(self, root: str) -> Hash:
        options = self._by_root.get(root)
        if options is None:
            options = self._by_root[root] = self._find(root)
        return options

    def _find(self, root: str) -> Hash:
        options = self._names.get(root)
        if options is None:
            options = next((value for pattern, value in self._patterns if pattern.search(root)), _NONE)
        if isinstance(options, Hash):
            return options
        if options is None or isinstance(options, str):
            return _NONE
        raise issues.BAD_OPTIONS.error(reason=f"lookup_options for '{root}' must be a hash")


def check_options(options: Any, module: str | None) -> Hash:
    """The options of a layer, checked; a module may set them only for its own keys. Raises HIERA-044."""
    if not isinstance(options, Hash):
        raise issues.BAD_OPTIONS.error(reason="value of lookup_options must be a hash")
    for name in options if module is not None else ():
        if str(name).startswith(f"^{module}::") or str(name).startswith(f"{module}::"):
            continue
        what = "patterns must match a key starting" if str(name).startswith("^") else "keys must start"
        raise issues.BAD_OPTIONS.error(reason=f"all lookup_options {what} with module name '{module}'")
    return options


def combine_options(layers: list[Hash]) -> Hash | None:
    """The options of all layers; the first layer that names a key wins."""
    if not layers:
        return None
    options = layers[0]
    for layer_options in layers[1:]:
        options = HASHES.merge(options, layer_options)
    return options
