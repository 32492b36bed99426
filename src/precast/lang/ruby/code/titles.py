"""The forms that titles of a type have, from its method `title_patterns`."""

from typing import Any

from precast.lang.ruby.code.code import Code, Library
from precast.lang.ruby.code.constants import Lambda
from precast.lang.ruby.code.methods import NotConstant
from precast.lang.ruby.erb.values import Pattern, Symbol
from precast.types.declaration import TitlePattern

Patterns = tuple[TitlePattern, ...]


def patterns(code: Code, library: Library) -> Patterns:
    """What the method gives; nothing if the text alone does not say."""
    try:
        found = code.call("title_patterns", (), library)
        return tuple(_pattern(*each[:2]) for each in found)
    except (NotConstant, TypeError, RecursionError):
        return ()


def _pattern(form: Any, attributes: Any) -> TitlePattern:
    if not isinstance(form, Pattern) or not isinstance(attributes, list):
        raise NotConstant
    return TitlePattern(python_text(form), tuple(map(_attribute, attributes)))


def python_text(form: Pattern) -> str:
    return f"(?m){form.compiled.pattern}"


def _attribute(given: Any) -> str:
    """The attribute that a group sets; none if the value is worked out further."""
    name, *functions = given if isinstance(given, list) else [given]
    if not isinstance(name, Symbol):
        raise NotConstant
    is_plain = all(isinstance(each, Lambda) and each.is_identity for each in functions if each is not None)
    return name.name if is_plain else ""
