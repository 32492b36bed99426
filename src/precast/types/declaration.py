"""The declaration of a managed type: its attributes, its namevars and its automatic relationships.

The compiler checks names against it, a test checks the agent's implementation of a type against it, and `precast doc type` prints it.
A declaration is plain data and does not depend on a node.
"""

import functools
import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

# How the title of the resource to follow is derived from a value: the value itself, the value if it is an absolute path, the directories
# above it, the program at the start of each line of a command, which may also be in double quotes, or the same for each command of a list.
Derivation = Literal["title", "path", "parents", "program", "programs"]


class AutoRelation(Struct, frozen=True):
    """A resource of `type_name` automatically comes before this one (or after it, for `before`), if the catalog has it."""

    type_name: str
    attributes: tuple[str, ...]
    derivation: Derivation = "title"
    kind: Literal["require", "before"] = "require"
    # Titles that are the same for every resource of the type.
    titles: tuple[str, ...] = ()
    # Titles with values of attributes in them, as texts and names of attributes in turn.
    formats: tuple[tuple[str, ...], ...] = ()


class TitlePattern(Struct, frozen=True):
    """A title that matches the pattern sets these attributes, one for each group; a group without an attribute only matches."""

    pattern: str
    attributes: tuple[str, ...]


# One value for each setting, written as ini_setting does; or several, each on a line of its own, as modules of OpenStack write them.
Syntax = Literal["single", "multiple"]


class ConfigFileType(Struct, frozen=True, omit_defaults=True):
    """How a node applies a type whose resources are each one setting of a configuration file."""

    # The file; a resource names its own in the parameter `path` if that is empty, or instead of this one if `may_move`.
    path: str = ""
    may_move: bool = False
    is_listed: bool = False  # all settings of the file are resources of the type: those in no catalog can be purged
    syntax: Syntax = "single"
    separator: str = "="
    takes_separator: bool = False  # the parameter `key_val_separator` replaces it
    # The name of a resource is SECTION/SETTING; without sections it is the setting.
    has_sections: bool = True
    # What a name and a value must contain, as regular expressions.
    name_pattern: str = ""
    value_pattern: str = ""
    booleans: Literal["keep", "capitalize", "lower"] = "keep"
    # A resource with this value is removed, whatever its `ensure`; None: the type has no such value.
    absent_value: str | None = None
    # A resource with the value <_IMMUTABLE_> leaves its setting as it is.
    keeps_immutable: bool = False
    # Any value of the parameter `quote` puts the setting's value into double quotes.
    takes_quote: bool = False
    # Messages show values without quotes, as types with a parameter `secret` do.
    shows_bare: bool = False
    # The attributes that the node may find on a resource.
    attributes: tuple[str, ...] = ()
    relations: tuple[AutoRelation, ...] = ()


class ManagedType(Struct, frozen=True, dict=True):
    """One type. Properties are state that can be read and changed, parameters control how; both are given as name and summary."""

    name: str
    summary: str
    properties: Mapping[str, str]
    parameters: Mapping[str, str]
    namevars: tuple[str, ...] = ("name",)
    # False if two resources may have the same namevar: two commands may be equal.
    is_isomorphic: bool = True
    title_patterns: tuple[TitlePattern, ...] = ()
    # Whether the code of a module's type changes values of a title, so that `title_patterns` does not say all.
    computes_titles: bool = False
    relations: tuple[AutoRelation, ...] = ()
    # Attributes whose values must be known when the catalog is compiled, beside namevars and metaparameters.
    never_deferred: tuple[str, ...] = ("provider",)
    # Default values and allowed words of attributes, as far as the declaration gives them. They are applied on the node.
    defaults: Mapping[str, object] = {}
    words: Mapping[str, tuple[str, ...]] = {}
    # Relations that the code of a module's type computed for single resources, by title. They replace `relations`.
    computed: Mapping[str, tuple[AutoRelation, ...]] = {}
    # True if the declaration could not be read completely: then every attribute is accepted.
    is_open: bool = False
    # False if no node can apply a resource of the type yet.
    is_applied: bool = True
    # The language in which a module declares it; empty if Precast itself does.
    code: Literal["", "ruby", "python"] = ""
    # For a type of a module that Precast implements: the names of the module's providers that it stands for, and what only the module's
    # own code can do, as regular expressions of whole values by attribute.
    providers: tuple[str, ...] = ("ruby",)
    foreign: Mapping[str, str] = {}
    # The module that declares it; empty if every manifest may use it.
    module: str = ""
    # How a node applies it, if each of its resources is a setting of a file.
    config_file: ConfigFileType | None = None

    @property
    def namevar(self) -> str:
        return self.namevars[0]

    @property
    def title_attribute(self) -> str:
        """The attribute that a title sets if no pattern matches: the only namevar, or `name` if there are several."""
        return self.namevars[0] if len(self.namevars) == 1 else "name"

    @functools.cached_property
    def attributes(self) -> frozenset[str]:
        return frozenset(self.properties) | frozenset(self.parameters)

    def relations_of(self, title: str) -> tuple[AutoRelation, ...]:
        """The automatic relations of the resource with a title."""
        return self.computed.get(title, self.relations)

    def may_be_deferred(self, attribute: str) -> bool:
        """Whether the attribute may have a value that is known only on the node."""
        return attribute in self.attributes and attribute not in self.namevars and attribute not in self.never_deferred

    def has_form_for(self, title: str) -> bool:
        """Whether a title matches one of the patterns; without patterns every title does."""
        return not self._patterns or any(pattern.search(title) for pattern, _ in self._patterns)

    def names_of_title(self, title: str) -> dict[str, str]:
        """The attributes that a title sets, by the first matching pattern; otherwise the whole title names the resource."""
        for pattern, attributes in self._patterns:
            match = pattern.search(title)
            if match is not None:
                pairs = zip(attributes, match.groups(), strict=False)
                return {name: value for name, value in pairs if name and value is not None}
        return {self.title_attribute: title}

    @functools.cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
        return tuple((re.compile(form.pattern), form.attributes) for form in self.title_patterns)

    def title_to_namevar(self, title: str) -> str:
        return self.names_of_title(title).get(self.namevar, title)
