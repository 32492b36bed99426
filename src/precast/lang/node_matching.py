"""Chooses the node block for a node: its exact name first, then regular expressions in their order, then `default`.

An expression is matched in linear time if an automaton can express it. For the others a compile, which runs in a process that can be
killed, uses an engine with backtracking; a server must not, and hands the question to such a process.
"""

import functools
from collections.abc import Mapping
from typing import Final, NamedTuple

from precast.lang.inputs import ABSENT, Answer
from precast.lang.values.linear_regexps import LinearRegexp, compile_linear
from precast.lang.values.regexps import compile_regexp

# The states of all expressions of an environment that a process matches itself if it must answer soon.
MAX_LINEAR_STATES: Final = 5_000

Captures = tuple[str | None, ...]


class _Expression(NamedTuple):
    position: int
    text: str
    linear: LinearRegexp | None


class _NodeMatchers(NamedTuple):
    """The matchers of all node blocks of an environment, prepared once."""

    names: Mapping[str, int]
    expressions: tuple[_Expression, ...]
    is_linear: bool


class NotLinearError(Exception):
    """The expressions cannot all be matched in linear time, or there are too many."""


def match_node(matchers: tuple[str, ...], certname: str) -> Answer:
    """The index of the matcher for a node and the captures of its expression; ABSENT if none matches. It may take for ever."""
    return _choose(_prepare(matchers), certname)


@functools.lru_cache(maxsize=16_384)
def match_node_in_linear_time(matchers: tuple[str, ...], certname: str) -> Answer:
    """The same as `match_node`. Raises NotLinearError instead of taking long."""
    prepared = _prepare(matchers)
    if certname.lower() not in prepared.names and not prepared.is_linear:
        raise NotLinearError
    return _choose(prepared, certname)


def _choose(prepared: _NodeMatchers, certname: str) -> Answer:
    name = certname.lower()
    if name in prepared.names:
        return prepared.names[name], ()
    for expression in prepared.expressions:
        captures = _search(expression, certname)
        if captures is not None:
            return expression.position, captures
    default = prepared.names.get("default")
    return ABSENT if default is None else (default, ())


def _search(expression: _Expression, certname: str) -> Captures | None:
    if expression.linear is not None:
        return expression.linear.search(certname)
    found = compile_regexp(expression.text).search(certname)
    return None if found is None else (found[0], *found.groups())


@functools.lru_cache(maxsize=64)
def _prepare(matchers: tuple[str, ...]) -> _NodeMatchers:
    """Among the matchers, a regular expression is written between slashes. Of equal names the last counts."""
    names: dict[str, int] = {}
    expressions: list[_Expression] = []
    states = 0
    for index, matcher in enumerate(matchers):
        if not _is_expression(matcher):
            names[matcher] = index
            continue
        # Beyond the limit no automaton is built: the whole question is answered elsewhere.
        linear = compile_linear(matcher[1:-1]) if states <= MAX_LINEAR_STATES else None
        states += linear.automaton.size if linear is not None else 0
        expressions.append(_Expression(index, matcher[1:-1], linear))
    return _NodeMatchers(names, tuple(expressions), all(expression.linear is not None for expression in expressions))


def _is_expression(matcher: str) -> bool:
    return len(matcher) >= 2 and matcher[0] == matcher[-1] == "/"
