"""Merge strategies: how the values are combined if several levels or layers have a value for a key."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from precast.lang.datatypes import mismatch, parse_type
from precast.lang.hiera import deep_merge, issues
from precast.lang.hiera.explanation import Explainer
from precast.lang.scope import MISSING
from precast.lang.values.base import Hash, identity_of

VariantT = TypeVar("VariantT")
_HASHES: Final = parse_type("Hash[String,Data]")
_LISTS: Final = parse_type("Variant[Scalar,Array[Data]]")
_DEEP_OPTIONS: Final = parse_type(
    "Struct[{strategy=>Optional[String],knockout_prefix=>Optional[String],merge_debug=>Optional[Boolean],"
    "merge_hash_arrays=>Optional[Boolean],sort_merged_arrays=>Optional[Boolean]}]"
)
_NO_OPTIONS: Final = parse_type("Struct[{strategy=>Optional[String]}]")


class Strategy(Protocol):
    """Combines values; those found first have priority."""

    name: str
    options: Hash

    def single(self, value: Any) -> Any:
        """The result if there is only one place to look."""

    def first(self, value: Any) -> Any:
        """The result for the first value found, if more may follow."""

    def merge(self, high: Any, low: Any) -> Any:
        """The combination of two values."""


class FirstFound:
    """Takes the first value and looks no further."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.options = Hash()

    def single(self, value: Any) -> Any:
        return value

    first = single

    def merge(self, high: Any, low: Any) -> Any:
        return high


class Unique:
    """Collects all values in one array without duplicates."""

    name = "unique"
    options = Hash()

    def single(self, value: Any) -> Any:
        return _without_duplicates(value) if isinstance(value, tuple) else value

    def first(self, value: Any) -> Any:
        return flat(value) if isinstance(value, tuple) else (value,)

    def merge(self, high: Any, low: Any) -> Any:
        _check_both(_LISTS, high, low)
        return _without_duplicates((*self.first(high), *self.first(low)))


class Hashes:
    """Collects the entries of all hashes; the first hash that has a key wins."""

    name = "hash"
    options = Hash()

    def single(self, value: Any) -> Any:
        return value

    first = single

    def merge(self, high: Any, low: Any) -> Any:
        _check_both(_HASHES, high, low)
        return low.merged(high)


class Deep:
    """Merges hashes and arrays to any depth."""

    def __init__(self, name: str, options: Hash) -> None:
        self.name = name
        self.options = options
        self._is_reverse = name == "reverse_deep"
        self._merge = deep_merge.Options(
            options.get("knockout_prefix"),
            bool(options.get("sort_merged_arrays")),
            bool(options.get("merge_hash_arrays")),
            bool(options.get("overwrite_arrays")),
            bool(options.get("extend_existing_arrays")),
        )

    def single(self, value: Any) -> Any:
        return value

    first = single

    def merge(self, high: Any, low: Any) -> Any:
        return (
            deep_merge.merge(low, high, self._merge) if self._is_reverse else deep_merge.merge(high, low, self._merge)
        )


DEFAULT: Final = FirstFound("default")
FIRST: Final = FirstFound("first")
HASHES: Final = Hashes()
UNIQUE: Final = Unique()
_DEEP: Final = frozenset(("deep", "unconstrained_deep", "reverse_deep"))


def strategy_for(merge: Any) -> Strategy:
    """The strategy for a name, or for a hash with the name and options. Raises HIERA-040, -041, -042."""
    if merge is None or merge is False:
        return DEFAULT
    options = Hash()
    if isinstance(merge, Hash):
        name = merge.get("strategy")
        if name is None:
            raise issues.NO_STRATEGY.error()
        options = merge if len(merge) > 1 else options
    else:
        name = merge
    if name in _DEEP:
        if options and name == "deep":
            _check("The merge options", _DEEP_OPTIONS, options)
        return Deep(name, options)
    plain = _PLAIN.get(name) if isinstance(name, str) else None
    if plain is None:
        raise issues.UNKNOWN_STRATEGY.error(name=name)
    if options:
        _check("The merge options", _NO_OPTIONS, options)
    return plain


_PLAIN: Final[dict[str, Strategy]] = {"default": DEFAULT, "first": FIRST, "hash": HASHES, "unique": UNIQUE}


def merge_variants(
    strategy: Strategy, variants: Sequence[VariantT], fetch: Callable[[VariantT], Any], explainer: Explainer | None
) -> Any:
    """The combined values of the variants; MISSING if none has a value."""
    if isinstance(strategy, FirstFound):
        for variant in variants:
            value = fetch(variant)
            if value is not MISSING:
                return value
        return MISSING
    if len(variants) == 1:
        value = fetch(variants[0])
        return value if value is MISSING else strategy.single(value)
    if explainer is None:
        return _reduce(strategy, variants, fetch)
    with explainer.within(f"Merge strategy {strategy.name}", options=strategy.options):
        result = _reduce(strategy, variants, fetch)
        if result is not MISSING:
            explainer.result(result)
        return result


def _reduce(strategy: Strategy, variants: Sequence[VariantT], fetch: Callable[[VariantT], Any]) -> Any:
    result: Any = MISSING
    for variant in variants:
        value = fetch(variant)
        if value is not MISSING:
            result = strategy.first(value) if result is MISSING else strategy.merge(result, value)
    return result


def flat(value: tuple[Any, ...]) -> tuple[Any, ...]:
    items: list[Any] = []
    for item in value:
        if isinstance(item, tuple):
            items += flat(item)
        else:
            items.append(item)
    return tuple(items)


def _without_duplicates(items: tuple[Any, ...]) -> tuple[Any, ...]:
    seen: dict[Any, Any] = {}
    for item in items:
        seen.setdefault(identity_of(item), item)
    return tuple(seen.values())


def _check_both(wanted: Any, high: Any, low: Any) -> None:
    _check("The first element of the merge", wanted, high)
    _check("The second element of the merge", wanted, low)


def _check(subject: str, wanted: Any, value: Any) -> None:
    if not wanted.check(value):
        raise issues.BAD_MERGE.error(reason=mismatch.describe(subject, wanted, value))
