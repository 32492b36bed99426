"""The base of types that are present or absent and have properties: how they are compared, and the messages of their changes.

The messages are Puppet's, because people search their logs for them. A property that is missing has the value "absent".
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from precast.resources import issues
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State

ABSENT = "absent"
PRESENT = "present"


def format_value(value: Any) -> str:
    """A value as Puppet's messages show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    return _quote(str(value))


_BARE_QUOTE = re.compile(r"(?<!\\)'")
_ESCAPED_QUOTE = r"\\'"
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "$": "\\$"}


def _quote(text: str) -> str:
    """Quote a string as Puppet's messages do: in single quotes, or in double quotes if it has unprintable characters."""
    if text.isprintable():
        return f"'{_BARE_QUOTE.sub(_ESCAPED_QUOTE, text)}'" if "'" in text else f"'{text}'"
    return '"' + "".join(_ESCAPES.get(sign, sign) for sign in text) + '"'


def change_message(name: str, previous: str, desired: str, is_new: bool = False, is_gone: bool = False) -> str:
    """Puppet's message for a changed property; both values are formatted already."""
    if is_new:
        return f"defined '{name}' as {desired}"
    if is_gone:
        return f"undefined '{name}' from {previous}"
    return f"{name} changed {previous} to {desired}"


def make_change(name: str, previous: Any, desired: Any) -> Change:
    """The change of a property that is not in sync, with Puppet's message."""
    text = change_message(name, format_value(previous), format_value(desired), previous == ABSENT, desired == ABSENT)
    return Change(name, previous, desired, text)


def as_texts(value: Any) -> list[str]:
    """One value or an array of values, as texts."""
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


def read_boolean(resource: DesiredResource, name: str, is_default: bool = False) -> bool:
    """Read a parameter that is true or false, as boolean or text. Raises InputError RESOURCE-006."""
    value = resource.get(name, is_default)
    text = str(value).lower()
    if text not in ("true", "false", "yes", "no"):
        raise invalid_value(resource, name, value, "true or false")
    return text in ("true", "yes")


def one_of(resource: DesiredResource, name: str, allowed: Sequence[str]) -> str | None:
    """Read a parameter that is one of a few words; None if it is not given. Raises InputError RESOURCE-006."""
    value = resource.get(name)
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text not in allowed:
        raise invalid_value(resource, name, value, f"it is one of {', '.join(allowed)}")
    return text


def number(resource: DesiredResource, name: str) -> int | None:
    """Read a parameter that is a whole number, also as text. Raises InputError RESOURCE-006."""
    value = resource.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not str(value).lstrip("-").isdecimal():
        raise invalid_value(resource, name, value, "it is a whole number")
    return int(value)


def invalid_value(resource: DesiredResource, name: str, value: Any, reason: str) -> Exception:
    """The error for an invalid value; a secret value is not shown."""
    text = "what it is" if name in resource.secrets else format_value(value)
    return issues.BAD_VALUE.error(name=name, value=text, wanted=reason, type=resource.type)


def refuse_option(resource: DesiredResource, name: str) -> None:
    """Raises InputError for a name that the programs which manage the resource would take for an option."""
    if is_option(name):
        raise invalid_value(resource, "name", name, "it begins with a dash")


def is_option(name: str) -> bool:
    """Whether a program would take a name for an option."""
    return name.startswith("-")


class PropertyHandler(Handler):
    """A resource that is present or absent, with properties that are compared one by one in a fixed order."""

    # All properties beside ensure, in the order in which changes are applied and reported.
    order: ClassVar[tuple[str, ...]] = ()

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self.name = str(resource.get("name", resource.title))
        self.desired = {name: self.munge(name, resource.parameters[name]) for name in self.order if self._has(name)}
        self.ensure = one_of(resource, "ensure", (PRESENT, ABSENT)) or (PRESENT if self.desired else None)

    def _has(self, name: str) -> bool:
        return name in self.resource.parameters

    def munge(self, name: str, value: Any) -> Any:
        """Convert a desired value to the form that the state has. Raises InputError."""
        return value

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        return bool(previous == desired)

    def change(self, name: str, previous: Any, desired: Any) -> Change:
        """The change of a property; types with messages of their own override this."""
        return make_change(name, previous, desired)

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
