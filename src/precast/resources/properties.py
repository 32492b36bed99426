"""Types that are there or not, and have properties: how they are compared, and how a difference is said.

The words are Puppet's, because people search their logs for them. A property that is missing has the value "absent".
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from precast.resources import issues
from precast.resources.contract import Change, Handler, Node, State, Wanted

ABSENT = "absent"
PRESENT = "present"


def shown(value: Any) -> str:
    """A value as messages have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return _quoted(str(value))


_BARE_QUOTE = re.compile(r"(?<!\\)'")
_ESCAPED_QUOTE = r"\\'"
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "$": "\\$"}


def _quoted(text: str) -> str:
    """As Puppet writes a string in a message: in single quotes, or in double ones if something in it cannot be printed."""
    if text.isprintable():
        return f"'{_BARE_QUOTE.sub(_ESCAPED_QUOTE, text)}'" if "'" in text else f"'{text}'"
    return '"' + "".join(_ESCAPES.get(sign, sign) for sign in text) + '"'


def words(name: str, previous: str, desired: str, is_new: bool = False, is_gone: bool = False) -> str:
    """What is said of a changed property; both values are as they are shown."""
    if is_new:
        return f"defined '{name}' as {desired}"
    if is_gone:
        return f"undefined '{name}' from {previous}"
    return f"{name} changed {previous} to {desired}"


def changed(name: str, previous: Any, desired: Any) -> Change:
    """A property that is not as wanted."""
    text = words(name, shown(previous), shown(desired), previous == ABSENT, desired == ABSENT)
    return Change(name, previous, desired, text)


def listed(value: Any) -> list[str]:
    """One value or an array of them, as texts."""
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def truth(wanted: Wanted, name: str, is_default: bool = False) -> bool:
    """A parameter that is true or false, given as boolean or in words. Raises InputError RESOURCE-006."""
    value = wanted.get(name, is_default)
    text = str(value).lower()
    if text not in ("true", "false", "yes", "no"):
        raise bad(wanted, name, value, "true or false")
    return text in ("true", "yes")


def one_of(wanted: Wanted, name: str, allowed: Sequence[str]) -> str | None:
    """A parameter that is one of a few words; None if it is not given. Raises InputError RESOURCE-006."""
    value = wanted.get(name)
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text not in allowed:
        raise bad(wanted, name, value, f"it is one of {', '.join(allowed)}")
    return text


def number(wanted: Wanted, name: str) -> int | None:
    """A parameter that is a whole number, perhaps written as text. Raises InputError RESOURCE-006."""
    value = wanted.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not str(value).lstrip("-").isdecimal():
        raise bad(wanted, name, value, "it is a whole number")
    return int(value)


def bad(wanted: Wanted, name: str, value: Any, reason: str) -> Exception:
    """The error for a value that cannot be; one that is secret is not shown."""
    text = "what it is" if name in wanted.secrets else shown(value)
    return issues.BAD_VALUE.error(name=name, value=text, wanted=reason, type=wanted.type)


class PropertyHandler(Handler):
    """A thing that is there or not, with properties compared one by one in a fixed order."""

    # All that it manages beside ensure, in the order in which changes are made and told.
    order: ClassVar[tuple[str, ...]] = ()

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self.name = str(wanted.get("name", wanted.title))
        self.desired = {name: self.munge(name, wanted.parameters[name]) for name in self.order if self._has(name)}
        self.ensure = one_of(wanted, "ensure", (PRESENT, ABSENT)) or (PRESENT if self.desired else None)

    def _has(self, name: str) -> bool:
        return name in self.wanted.parameters

    def munge(self, name: str, value: Any) -> Any:
        """A wanted value in the form in which the state has it. Raises InputError."""
        return value

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        return bool(previous == desired)

    def change(self, name: str, previous: Any, desired: Any) -> Change:
        """How a difference is told; types with words of their own say so here."""
        return changed(name, previous, desired)

    def compare(self, state: State) -> Sequence[Change]:
        is_there = state["ensure"] != ABSENT
        if self.ensure == ABSENT:
            return (Change("ensure", PRESENT, ABSENT, "removed"),) if is_there else ()
        if not is_there:
            return (Change("ensure", ABSENT, PRESENT, "created"),) if self.ensure else ()
        return tuple(
            self.change(name, state.get(name, ABSENT), desired)
            for name, desired in self.desired.items()
            if not self.is_in_sync(name, state.get(name, ABSENT), desired)
        )
