"""Functions that join, split, match, replace, format and quote strings."""

import re
from collections.abc import Callable
from typing import Any

from precast.lang.datatypes import Type
from precast.lang.datatypes.scalars import PatternType, RegexpType
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import legacy_string, to_legacy
from precast.lang.ruby.puppet_text import ruby_join, ruby_text
from precast.lang.ruby.stdlib.sprintf import sprintf
from precast.lang.values import unknowns
from precast.lang.values.base import Hash, Regexp, Unknown, kind_name
from precast.lang.values.regexps import compile_regexp
from precast.lang.values.strftime import format_timespan, format_timestamp
from precast.lang.values.times import Timespan, Timestamp

JOIN = Function(
    "join", "Joins the elements of an array into one string; inner arrays are flattened.", unknowns=Unknowns.TEXT
)
SPLIT = Function(
    "split", "Splits a string at each match of a pattern; empty parts at the end are dropped.", unknowns=Unknowns.AGENT
)
SPRINTF = Function("sprintf", "Formats values as Ruby's sprintf does.", unknowns=Unknowns.AGENT)
REGSUBST = Function(
    "regsubst",
    "Replaces the first match of a pattern in a string, or in every string of an array. Flags: G replaces all matches, I ignores "
    "case, E allows an extended pattern, M lets the dot match line ends.",
    unknowns=Unknowns.AGENT,
)
MATCH = Function(
    "match",
    "Returns the match and its groups as an array, undef if there is no match; for an array of strings, an array of these.",
)
STRFTIME = Function("strftime", "Formats a Timestamp or a Timespan.")
SHELLQUOTE = Function(
    "shellquote", "Quotes arguments so that a Bourne shell takes each as one word.", unknowns=Unknowns.AGENT
)


@JOIN.dispatch("Array arg, String delimiter?")
def _join(values: tuple[Any, ...], separator: str = "") -> Any:
    if not unknowns.has_unknown(values):
        return ruby_join(values, separator)
    parts: list[Any] = []
    for value in flatten(values):
        parts += [separator, value if isinstance(value, Unknown) else ruby_text(value)]
    return unknowns.join(parts[1:])


def pattern_of(wanted: Any) -> "re.Pattern[str]":
    """Return the pattern of a string, a Regexp or a Regexp type; the type without parameter matches the empty string."""
    if isinstance(wanted, str):
        return compile_regexp(wanted)
    if isinstance(wanted, RegexpType):
        return compile_regexp("" if wanted.pattern is None else wanted.pattern.pattern)
    return compile_regexp(wanted.pattern)


@SPLIT.dispatch("String str, String pattern")
@SPLIT.dispatch("String str, Regexp pattern")
@SPLIT.dispatch("String str, Type[Regexp] pattern")
def _split(text: str, wanted: Any) -> tuple[str, ...]:
    if isinstance(wanted, str) and len(wanted) == 1 and wanted.isalnum() | (wanted in ",:;/ -_\n"):
        parts = text.split(wanted)
    else:
        parts = _split_at(text, pattern_of(wanted))
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _split_at(text: str, pattern: "re.Pattern[str]") -> list[str]:
    """Split as Ruby does: an empty match separates characters, and groups are returned between the parts."""
    parts, start = [], 0
    for match in pattern.finditer(text):
        if match.end() == match.start() and match.start() in (0, start, len(text)):
            continue
        parts.append(text[start : match.start()])
        parts += [group for group in match.groups() if group is not None]
        start = match.end()
    return [*parts, text[start:]]


@SPRINTF.dispatch("Any +args")
def _sprintf(text: Any, *args: Any) -> str:
    return sprintf(legacy_string("sprintf", text), [to_legacy(arg) for arg in args])


_TARGET = "Variant[Array[String], String] target"
_REPLACEMENT = "Variant[String, Hash[String, String]] replacement"


@REGSUBST.dispatch(
    f"{_TARGET}, String pattern, {_REPLACEMENT}, Optional[Pattern[/^[GEIM]*$/]] flags?, Enum['E', 'N', 'S', 'U'] encoding?"
)
def _regsubst_text(target: Any, pattern: str, replacement: Any, flags: str | None = None, encoding: str = "N") -> Any:
    flags = flags or ""
    options = "".join(option for flag, option in (("I", "i"), ("M", "m"), ("E", "x")) if flag in flags)
    compiled = compile_regexp(f"(?{options}:{pattern})" if options else pattern)
    return _replace(target, compiled, replacement, "G" in flags)


@REGSUBST.dispatch(f"{_TARGET}, Variant[Regexp, Type[Regexp]] pattern, {_REPLACEMENT}, Pattern[/^G?$/] flags?")
def _regsubst_regexp(target: Any, pattern: Any, replacement: Any, flags: str = "") -> Any:
    return _replace(target, pattern_of(pattern), replacement, flags == "G")


def _replace(target: Any, pattern: "re.Pattern[str]", replacement: Any, everywhere: bool) -> Any:
    fill = _make_filler(replacement)
    count = 0 if everywhere else 1
    if isinstance(target, tuple):
        return tuple(pattern.sub(fill, text, count=count) for text in target)
    return pattern.sub(fill, target, count=count)


_REFERENCE = re.compile(r"\\(?:([0-9])|k<(\w+)>|([&`'\\]))")


def _make_filler(replacement: Any) -> Callable[["re.Match[str]"], str]:
    if isinstance(replacement, Hash):
        return lambda match: replacement.get(match[0], "")
    if "\\" not in replacement:
        return lambda match: replacement

    def fill(match: "re.Match[str]") -> str:
        return _REFERENCE.sub(lambda reference: _expand_reference(match, reference), replacement)

    return fill


def _expand_reference(match: "re.Match[str]", reference: "re.Match[str]") -> str:
    """Return what \\1, \\k<name>, \\&, \\`, \\' or a doubled backslash stands for."""
    number, name, sign = reference.groups()
    if number is not None:
        group = int(number)
        return (match[group] or "") if group <= match.re.groups else ""
    if name is not None:
        if name not in match.re.groupindex:
            raise issues.NO_SUCH_GROUP.error(name=name)
        return match[name] or ""
    if sign == "&":
        return match[0]
    if sign == "`":
        return match.string[: match.start()]
    return match.string[match.end() :] if sign == "'" else "\\"


@MATCH.dispatch("String string, Variant[Any, Type] pattern")
def _match(text: str, wanted: Any) -> Any:
    if isinstance(wanted, tuple):
        return next(filter(None, (_match(text, pattern) for pattern in wanted)), None)
    if isinstance(wanted, PatternType):
        return next(filter(None, (_match(text, pattern) for pattern in wanted.patterns)), None)
    if isinstance(wanted, RegexpType):
        if wanted.pattern is None:
            raise issues.EMPTY_REGEXP_TYPE.error()
        wanted = wanted.pattern
    elif not isinstance(wanted, str | Regexp):
        raise issues.NOT_A_PATTERN.error(kind=str(wanted) if isinstance(wanted, Type) else kind_name(wanted))
    match = pattern_of(wanted).search(text)
    return (match[0], *match.groups()) if match else None


@MATCH.dispatch("Array[String] string, Variant[Any, Type] pattern")
def _match_each(texts: tuple[str, ...], wanted: Any) -> tuple[Any, ...]:
    return tuple(_match(text, wanted) for text in texts)


@STRFTIME.dispatch("Timespan time_object, String format")
def _strftime_span(value: Timespan, text: str) -> str:
    return format_timespan(value, text)


@STRFTIME.dispatch("Timestamp time_object, String format, String timezone?")
def _strftime(value: Timestamp, text: str, zone: str | None = None) -> str:
    return format_timestamp(value, text, zone)


_LEGACY_STRFTIME = (
    "The argument signature (String format, [String timezone]) is deprecated for #strftime. "
    "See #strftime documentation and Timespan type for more info"
)


@STRFTIME.dispatch("String format, String timezone?", pure=False)
def _strftime_now(call: Call, text: str, zone: str | None = None) -> str:
    """Format the current time, as earlier versions of Puppet do: the time at which the version was deployed, in UTC."""
    call.host.warn_once("strftime-legacy", _LEGACY_STRFTIME)
    return format_timestamp(call.host.now(), text, zone)


_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_DANGEROUS = re.compile(r"[!\"`$\\]")


@SHELLQUOTE.dispatch("Any *args")
def _shellquote(*args: Any) -> str:
    return " ".join(map(_shell_word, flatten(*map(to_legacy, args))))


def _shell_word(word: Any) -> str:
    if not isinstance(word, str):
        raise issues.NOT_A_STRING.error(name="shellquote", kind=kind_name(word))
    if word and _SAFE.fullmatch(word):
        return word
    if not _DANGEROUS.search(word):
        return f'"{word}"'
    if "'" not in word:
        return f"'{word}'"
    return '"' + "".join("\\" + char if char in '"`$\\' else char for char in word) + '"'
