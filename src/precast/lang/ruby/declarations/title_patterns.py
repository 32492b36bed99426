"""Reads the title patterns of a type from its method `title_patterns`."""

from typing import Any

from precast.lang.ruby.declarations.ruby_file import FindFile, RubyFile
from precast.lang.ruby.declarations.static_evaluation import Lambda
from precast.lang.ruby.declarations.static_methods import NotStatic
from precast.lang.ruby.values import Pattern, Symbol
from precast.types.declaration import TitlePattern

Patterns = tuple[TitlePattern, ...]


def patterns(file: RubyFile, find_file: FindFile) -> Patterns:
    """Return the value of the method; nothing if the text alone does not determine it."""
    try:
        entries = file.call("title_patterns", (), find_file)
        return tuple(_pattern(*entry[:2]) for entry in entries)
    except (NotStatic, TypeError, RecursionError):
        return ()


def _pattern(pattern: Any, attributes: Any) -> TitlePattern:
    if not isinstance(pattern, Pattern) or not isinstance(attributes, list):
        raise NotStatic
    return TitlePattern(python_text(pattern), tuple(map(_attribute, attributes)))


def python_text(pattern: Pattern) -> str:
    """Return the text of a pattern in Python's syntax."""
    return f"(?m){pattern.compiled.pattern}"


def _attribute(given: Any) -> str:
    """Return the attribute that a group sets; empty if a function changes the value."""
    name, *functions = given if isinstance(given, list) else [given]
    if not isinstance(name, Symbol):
        raise NotStatic
    is_plain = all(
        isinstance(function, Lambda) and function.is_identity for function in functions if function is not None
    )
    return name.name if is_plain else ""
