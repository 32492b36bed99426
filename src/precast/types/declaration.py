"""What a managed type is: its attributes, what names a resource of it, what it follows by itself.

The compiler checks names against it, the agent's implementation of a type is checked against it, and `precast doc type` prints it.
A declaration is plain data and knows nothing of nodes.
"""

import functools
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

# How a value becomes the title of the resource to follow: as it is, if it is an absolute path, the directories above it, or the
# program a command line begins with.
Derivation = Literal["title", "path", "parents", "program"]


class AutoRelation(Struct, frozen=True):
    """A resource of `type_name` comes first by itself (or after, for `before`), if the catalog has it."""

    type_name: str
    attributes: tuple[str, ...]
    derivation: Derivation = "title"
    kind: Literal["require", "before"] = "require"
    # Titles that are the same for every resource of the type.
    titles: tuple[str, ...] = ()


class TitlePattern(Struct, frozen=True):
    """A title of this form sets these attributes, one per group; a group without an attribute only matches."""

    pattern: str
    attributes: tuple[str, ...]


class ManagedType(Struct, frozen=True, dict=True):
    """One type. Properties are state that can be read and changed, parameters steer how; both are given as name and summary."""

    name: str
    summary: str
    properties: Mapping[str, str]
    parameters: Mapping[str, str]
    namevars: tuple[str, ...] = ("name",)
    # False if two resources may name the same thing: two commands may be equal.
    is_isomorphic: bool = True
    title_patterns: tuple[TitlePattern, ...] = ()
    relations: tuple[AutoRelation, ...] = ()
    # Attributes that must be known when the catalog is compiled, beside namevars and metaparameters.
    never_deferred: tuple[str, ...] = ("provider",)
    # What attributes are if nothing is given, and the words they may be, as far as the declaration says. Applied on the node.
    defaults: Mapping[str, object] = {}
    words: Mapping[str, tuple[str, ...]] = {}
    # True if the declaration could not be read to its end: every attribute is taken.
    is_open: bool = False
    # The module that brings it; empty if every manifest may use it.
    module: str = ""

    @property
    def namevar(self) -> str:
        return self.namevars[0]

    @property
    def title_attribute(self) -> str:
        """What a title stands for where nothing else is said: the one namevar, or of several the name."""
        return self.namevars[0] if len(self.namevars) == 1 else "name"

    @functools.cached_property
    def attributes(self) -> frozenset[str]:
        return frozenset(self.properties) | frozenset(self.parameters)

    def may_be_deferred(self, attribute: str) -> bool:
        """Whether a value that is known only on the node may stand there."""
        return attribute in self.attributes and attribute not in self.namevars and attribute not in self.never_deferred

    def has_form_for(self, title: str) -> bool:
        """Whether a title can name a resource: it can if there are no forms to fit."""
        return not self._patterns or any(pattern.search(title) for pattern, _ in self._patterns)

    def names_of_title(self, title: str) -> dict[str, str]:
        """The attributes that a title sets: the first pattern that fits, else the whole title names the resource."""
        for pattern, attributes in self._patterns:
            found = pattern.search(title)
            if found is not None:
                pairs = zip(attributes, found.groups(), strict=False)
                return {name: value for name, value in pairs if name and value is not None}
        return {self.title_attribute: title}

    @functools.cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
        return tuple((re.compile(each.pattern), each.attributes) for each in self.title_patterns)

    def title_to_namevar(self, title: str) -> str:
        return self.names_of_title(title).get(self.namevar, title)
