"""`=~`, `in`, and the options of case and selector: whether a value matches a pattern, a type or another value.

A match with a regular expression leaves its groups in the scope, for $0 to $9.
"""

from typing import Any

from precast.lang.datatypes import Type
from precast.lang.evaluator.arithmetic import kind_with_article
from precast.lang.issues import compiler as issues
from precast.lang.scope import Scope
from precast.lang.values.base import DEFAULT, Binary, Hash, Regexp, equals, is_number
from precast.lang.values.folding import fold
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.versions import SemVer, SemVerRange


def is_instance(scope: Scope, wanted: Type, value: Any) -> bool:
    """Whether a value has a type; a hole is asked for if the type alone does not decide."""
    return wanted.check(scope.compilation.concrete_for_type(value, wanted))


def matches(scope: Scope, left: Any, pattern: Any) -> bool:
    """`left =~ pattern`. Raises if the left is not a String or the right is not a pattern."""
    if isinstance(pattern, Type):
        return is_instance(scope, pattern, left)
    left = scope.compilation.concrete(left)
    if isinstance(pattern, SemVerRange):
        return in_range(pattern, left)
    if isinstance(pattern, str):
        pattern = Regexp(pattern)
    if not isinstance(pattern, Regexp):
        raise issues.NO_PATTERN.error(right=kind_with_article(pattern))
    if not isinstance(left, str):
        raise issues.MATCH_NEEDS_STRING.error(left=kind_with_article(left))
    return _search(scope, pattern, left)


def _search(scope: Scope, pattern: Regexp, text: str) -> bool:
    match = compile_regexp(pattern.pattern).search(text)
    if match is None:
        return False
    scope.matches = match
    return True


def in_range(wanted: SemVerRange, value: Any) -> bool:
    version = value if isinstance(value, SemVer) else SemVer.parse(value) if isinstance(value, str) else None
    return version is not None and wanted.includes(version)


def option_matches(scope: Scope, subject: Any, option: Any) -> bool:
    """Whether a case or selector option matches the subject."""
    if type(option) is str:
        return type(subject) is str and (subject == option or fold(subject) == fold(option))
    if isinstance(option, Type):
        return is_instance(scope, option, subject)
    if isinstance(option, Regexp):
        return isinstance(subject, str) and _search(scope, option, subject)
    if isinstance(option, tuple):
        if not isinstance(subject, tuple) or len(subject) != len(option):
            return False
        return all(option_matches(scope, item, part) for item, part in zip(subject, option, strict=True))
    if isinstance(option, Hash):
        if not isinstance(subject, Hash):
            return False
        return all(option_matches(scope, subject.lookup(key), value) for key, value in option.items())
    if option is DEFAULT:
        return True
    if isinstance(option, SemVerRange):
        return equals(subject, option) or in_range(option, subject)
    if isinstance(option, SemVer) and isinstance(subject, str):
        subject = SemVer.parse(subject)
    return equals(subject, option)


def is_in(scope: Scope, left: Any, right: Any) -> bool:
    """`left in right`: whether the left is, or matches, a substring, an element or a key."""
    if isinstance(right, str):
        if isinstance(left, str):
            return left.lower() in right.lower()
        if isinstance(left, Regexp):
            return _search(scope, left, right)
        return is_number(left) and equals(right, left)
    if isinstance(right, Hash):
        right = tuple(right)
    if isinstance(right, tuple):
        return _in_array(scope, left, right)
    if isinstance(right, SemVerRange):
        return in_range(right, left)
    if isinstance(right, Binary):
        return _in_binary(left, right.data)
    return False


def _in_array(scope: Scope, left: Any, right: tuple[Any, ...]) -> bool:
    if isinstance(left, str):
        return any(option_matches(scope, left, item) for item in right)
    if isinstance(left, Regexp):
        return any(isinstance(item, str) and _search(scope, left, item) for item in right)
    if isinstance(left, Type):
        return any(is_instance(scope, left, item) for item in right)
    if isinstance(left, SemVer):
        return any(option_matches(scope, left, item) for item in right)
    return any(equals(item, left) for item in right)


def _in_binary(left: Any, data: bytes) -> bool:
    if isinstance(left, Binary):
        return left.data in data
    if isinstance(left, str):
        return left.encode() in data
    return is_number(left) and 0 <= left < 256 and int(left) in data
