"""A fuzz target: a parser of foreign bytes, with what must hold for every input, and valid inputs to start from."""

from collections.abc import Callable
from typing import NamedTuple


class FuzzTarget(NamedTuple):
    """`check` raises AssertionError, or an exception that its parser does not declare, if an input breaks a promise.

    The seeds are valid inputs: changes of those reach deeper than noise. `modules` are measured for coverage, which guides the changes.
    """

    check: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    modules: tuple[str, ...]
