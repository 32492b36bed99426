"""A resource of a catalog under construction.

Each parameter remembers the frame that set it, which decides who may override it. `tags` are those of the resource itself; tags of
its container are added when the catalog is finished, so that a tag set late counts too.
"""

import functools
import re
from typing import TYPE_CHECKING, Any

from precast.base.spans import Source, Span
from precast.lang import datatypes
from precast.lang.issues import compiler as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.values.base import to_string

if TYPE_CHECKING:
    from precast.lang.compiler.definitions import Definition
    from precast.lang.scope import Frame

RELATIONSHIPS = ("before", "notify", "require", "subscribe")
_TAG = re.compile(r"\w[\w:.\-]*")


class Parameter:
    """A value with the frame that set it; `adds` means `+>`."""

    __slots__ = ("adds", "frame", "value")

    def __init__(self, value: Any, frame: "Frame", adds: bool = False) -> None:
        self.value = value
        self.frame = frame
        self.adds = adds


class Resource:
    """A declared resource, class, define or node block."""

    __slots__ = (
        "definition", "exported", "exporter", "frame", "is_evaluated", "own_frame", "parameters", "ref", "source", "span",
        "tags", "title", "title_value", "type_name", "virtual",
    )  # fmt: skip

    def __init__(
        self,
        type_name: str,
        title: Any,
        frame: "Frame | None",
        definition: "Definition | None" = None,
        *,
        virtual: bool = False,
        exported: bool = False,
        exporter: str = "",
        source: Source | None = None,
        span: Span | None = None,
    ) -> None:
        self.type_name = type_name
        # create_resources accepts a number as title: code sees the number, the catalog its text, and it does not become a tag.
        self.title_value = title
        self.title: str = title if isinstance(title, str) else ruby_text(title)
        self.ref = reference(type_name, self.title)
        self.frame = frame
        self.definition = definition
        self.virtual = virtual
        self.exported = exported
        self.source = source
        self.span = span
        self.exporter = exporter  # the other node from which it was collected
        self.parameters: dict[str, Parameter] = {}
        self.tags: dict[str, None] = {}
        self.is_evaluated = False
        self.own_frame: Frame | None = None
        self.tag(type_name)
        if isinstance(title, str) and is_tag(title):
            self.tag(title)

    @property
    def is_class(self) -> bool:
        return self.type_name == "class"

    def value(self, name: str) -> Any:
        """A parameter's value, undef if it is not set."""
        parameter = self.parameters.get(name)
        return None if parameter is None else parameter.value

    def set(self, name: str, parameter: Parameter) -> None:
        self.parameters[name] = parameter
        if name == "tag":
            for tag in flatten(parameter.value):
                if tag is not None:
                    self.tag(tag)

    def tag(self, name: Any) -> None:
        """Add a tag and the parts of a qualified tag; a number or Boolean counts as its text. Raises if it is not a valid tag."""
        if isinstance(name, int | float):
            name = to_string(name)
        if not isinstance(name, str) or not is_tag(name):
            raise issues.BAD_TAG.error(self.source, self.span, tag=name)
        name = name.lower()
        self.tags[name] = None
        if "::" in name:
            for part in name.split("::"):
                if part:
                    self.tags[part] = None

    def all_tags(self) -> dict[str, None]:
        """The tags so far with those of the containers, up to a class, which received its container's tags when declared."""
        tags = dict(self.tags)
        around: Resource | None = self
        while around is not None and not around.is_class:
            around = around.frame.resource if around.frame is not None else None
            tags.update(around.tags if around is not None else {})
        return tags

    def place(self) -> str:
        """`file:line` of its declaration, for messages."""
        if self.source is None or self.span is None:
            return "the start"
        return f"{self.source.path or 'code'}:{self.source.position(self.span.start).line}"


def is_tag(name: str) -> bool:
    return _TAG.fullmatch(name) is not None


@functools.lru_cache(maxsize=4096)
def capitalized(type_name: str) -> str:
    """`foo::bar` as references write it: `Foo::Bar`."""
    return "::".join(part[:1].upper() + part[1:] for part in type_name.split("::"))


def reference(type_name: str, title: str) -> str:
    if type_name == "class" and title != "main":
        title = capitalized(title)
    return f"{capitalized(type_name)}[{title}]"


def ref_of(value: Any) -> str:
    """A reference as the catalog writes it, such as `File[/etc/motd]`."""
    if isinstance(value, datatypes.ClassType):
        return reference("class", (value.class_name or "").removeprefix("::").lower())
    name = (value.type_name or "").lower()
    title = value.title or ""
    return reference(name, title.removeprefix("::").lower() if name == "class" else title)


def flatten(value: Any) -> list[Any]:
    """The values in nested arrays, in order; a single value becomes a list of one."""
    if isinstance(value, tuple):
        return [inner for item in value for inner in flatten(item)]
    return [value]
