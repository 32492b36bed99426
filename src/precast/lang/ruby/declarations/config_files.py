"""Recognises types whose resources are each one setting of a configuration file, as OpenStack's modules declare them.

The rule: the provider is a child of ini_setting's or of one of openstacklib's, and type and provider consist of statements whose meaning is
known. A constant in a statement is read (the file, the separator, the value that means absent); code is compared by its digest, without
comments and layout. One unknown statement, also in a provider further up, and the type is not of the family: Precast then does not
guess what it does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from precast.lang.ruby.declarations import token_text
from precast.lang.ruby.declarations.outline import Statement
from precast.lang.ruby.declarations.ruby_file import FindFile, RubyFile, find_constant_file
from precast.types.declaration import ConfigFileType, ManagedType

_ATTRIBUTES: Final = frozenset(
    ("ensure", "name", "value", "secret", "ensure_absent_val", "key_val_separator", "quote", "path", "transform_to")
)
# A node refuses a resource with one of these, because they lead to code that only Ruby can run.
_NOT_APPLIED: Final = frozenset(("transform_to",))
_MAX_PARENTS: Final = 4

_Facts = dict[str, Any]


class _Form(NamedTuple):
    """A statement by the text of its tokens; the group of the pattern, if it has one, is the value of `names`."""

    pattern: re.Pattern[str]
    facts: _Facts
    name: str = ""

    def read(self, text: str) -> _Facts | None:
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        return {**self.facts, self.name: match[1]} if self.name else self.facts


def _form(pattern: str, name: str = "", **facts: Any) -> _Form:
    return _Form(re.compile(pattern), facts, name)


_STRING: Final = r'(?:\( )?"([^"\\]*)"(?: \))?'
_PATTERN: Final = r"(?:\( )?/(.*)/(?: \))?"
_PROVIDER_FORMS: Final = (
    _form(rf"def self \. file_path {_STRING} end", "path", is_listed=True),
    _form(rf"def file_path {_STRING} end", "path"),
    _form(r"def file_path self \. class \. file_path end"),
    _form(r"def file_path resource \[ :path \] end", may_move=True),
    _form(
        r"def file_path if not resource \[ :path \] self \. class \. file_path else resource \[ :path \] end end",
        may_move=True,
    ),
    _form(r'def section resource \[ :name \] \. split \( "/" , 2 \) \. first end', section=True),
    _form(r'def setting resource \[ :name \] \. split \( "/" , 2 \) \. last end', setting=True),
    _form(r'def section "" end', section=False),
    _form(r"def setting resource \[ :name \] end", setting=False),
    _form(rf"def separator {_STRING} end", "separator", takes_separator=False),
    _form(r"def ensure_absent_val resource \[ :ensure_absent_val \] end"),
    # Ruby calls these only for a resource with `transform_to`.
    _form(r"def (?:to|from)_\w+ .*"),
)
_PARENT: Final = re.compile(
    r"Puppet :: Type \. type \( :(\w+) \) \. provide \( :\w+ , :parent => "
    r"Puppet :: Type \. type \( :(\w+) \) \. provider \( :(\w+) \) \) do"
)
_VALUE_HEAD: Final = re.compile(r"newproperty \( :value(?P<is_array> , :array_matching => :all)? \) do")
_PARAMETER_HEAD: Final = re.compile(r"newparam \( :(\w+)(?: , :(?:namevar|boolean) => true)? \)(?: do)?")
_PARAMETER_FORMS: Final[Mapping[str, tuple[_Form, ...]]] = {
    "name": (_form(rf"newvalues {_PATTERN}", "name_pattern"),),
    "secret": (_form(r"newvalues \( :true , :false \)"), _form(r"defaultto (?:\( )?false(?: \))?")),
    "quote": (_form(r"newvalues \( :true , :false \)"), _form(r"defaultto (?:\( )?false(?: \))?")),
    "ensure_absent_val": (_form(rf"defaultto {_STRING}", "absent_value"),),
    "key_val_separator": (_form(rf"defaultto {_STRING}", "separator"),),
    "path": (_form(r"defaultto (?:\( )?false(?: \))?"),),
    "transform_to": (),
}
_VALUE_FORMS: Final = (_form(rf"newvalues {_PATTERN}", "value_pattern"),)
# Statements around the attributes that change nothing: a node applies them as part of what it does for every type, or not at all.
_TYPE_FORMS: Final = (
    _form(r"ensurable"),
    _form(r"def create provider \. create end"),
    _form(r"(?:autorequire|autosubscribe|autobefore|autonotify) .*"),
    _form(r"require File \. expand_path .*"),
)

# Code by the digest of its tokens.
_CODE: Final[Mapping[str, _Facts]] = {
    # munge: blanks at both ends are removed, and true and false in any spelling are written with or without a capital letter.
    "325e00c57e4fb585": {"booleans": "capitalize"},
    "f7bebe8dea23e116": {"booleans": "lower"},
    "af880f1bfc9bc8b1": {"booleans": "keep"},
    # insync? compares several values in their order.
    "fdbddc3ffbf13af1": {"compares_arrays": True},
    # is_to_s and should_to_s show values as they are, or nothing of them if the resource is secret.
    "5daf5a23af6fc8d3": {"shows_bare": True},
    "66e98c46bf27f909": {"shows_bare": True},
    # exists? puts the value into quotes if `quote` is set, and knows no immutable value.
    "797a18cde8b2895f": {"takes_quote": True, "keeps_immutable": False},
    # validate: the path is absolute.
    "75a1621a3fd90240": {},
    "9f02f12ce2a387df": {},
}
# The providers of openstacklib: the files that they consist of, and the versions of these files that are known.
_PARENT_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "ini_setting": ("puppet/provider/openstack_config/ini_setting.rb",),
    "ruby": (
        "puppet/provider/openstack_config/ruby.rb",
        "puppet/util/openstackconfig.rb",
        "puppet/util/openstackconfig/section.rb",
    ),
}
_SINGLE: Final[_Facts] = {"syntax": "single", "section": True, "setting": True}
_MULTIPLE: Final[_Facts] = {"syntax": "multiple", "section": True, "setting": True, "takes_separator": False}
_PARENT_CODE: Final[Mapping[str, _Facts]] = {
    "0f00bb9162c28f63": {**_SINGLE, "keeps_immutable": True},
    "a72f435b125f9391": {**_SINGLE, "keeps_immutable": True},
    "812bf0e63b95f60e": {**_SINGLE, "takes_separator": False},
    "b36220639e42af8c": {**_MULTIPLE, "keeps_immutable": True},
    "95c7f719a2be96a3": _MULTIPLE,
    "10872fa6a5b610c5": {},
    "d07c60c5cd8ec4a2": {},
}


def is_candidate(declared: ManagedType) -> bool:
    """Whether the attributes of a type are those of the family, so that its provider is worth reading."""
    return {"ensure", "value", "name"} <= declared.attributes <= _ATTRIBUTES


def read_config_file(
    declared: ManagedType, file: RubyFile, providers: Sequence[str], find_file: FindFile
) -> ConfigFileType | None:
    """How a node applies the type that a file declares, with provider files of these names; None if it is not of the family."""
    if not is_candidate(declared) or len(providers) != 1:
        return None
    provided = _read_provider(declared.name, providers[0].removesuffix(".rb"), find_file)
    typed = _read_type(declared.name, file, find_file)
    if provided is None or typed is None:
        return None
    facts: _Facts = {"takes_separator": "key_val_separator" in declared.attributes, **typed, **provided}
    has_sections = facts.pop("section", None)
    is_array = facts.pop("is_array", False)
    if (
        facts.pop("setting", None) is not has_sections
        or has_sections is None
        or is_array != (facts["syntax"] == "multiple")
        or is_array != facts.pop("compares_arrays", False)
        or ("quote" in declared.attributes) != facts.get("takes_quote", False)
        or not (facts.get("path") or facts.get("may_move"))
        or "booleans" not in facts
        or not all(_is_portable(facts.get(name, "")) for name in ("name_pattern", "value_pattern"))
    ):
        return None
    return msgspec.convert(
        {
            **facts,
            "has_sections": has_sections,
            "attributes": sorted(declared.attributes - _NOT_APPLIED),
            "relations": [msgspec.to_builtins(relation) for relation in declared.relations],
        },
        ConfigFileType,
    )


def _read_provider(type_name: str, name: str, find_file: FindFile, depth: int = 0) -> _Facts | None:
    """What a provider and its parents determine; None if one of them has a statement with an unknown meaning."""
    if type_name == "openstack_config":
        return _read_parent(name, find_file)
    file = find_file(f"puppet/provider/{type_name}/{name}.rb")
    if (type_name, name) == ("ini_setting", "ruby"):
        return {"syntax": "single"} if file is not None else None
    if file is None or depth > _MAX_PARENTS:
        return None
    # What is required at the top is for methods that are not called, or is the parent, which is read below.
    statements = [each for each in file.statements if file.tokens[each.start].value != "require"]
    if len(statements) != 1 or len(statements[0].blocks) != 1:
        return None
    statement = statements[0]
    head = _PARENT.fullmatch(token_text.text(file.tokens, statement.start, statement.blocks[0].start + 1))
    if head is None or head[1] != type_name:
        return None
    facts = _read_provider(head[2], head[3], find_file, depth + 1)
    return _merge(facts, (_meaning(file, each, _PROVIDER_FORMS) for each in statement.blocks[0].statements))


def _read_parent(name: str, find_file: FindFile) -> _Facts | None:
    """A provider of openstacklib, if its code is known."""
    files = [find_file(path) for path in _PARENT_FILES.get(name, ())]
    return _merge({} if files else None, (None if file is None else _known_code(file) for file in files))


def _known_code(file: RubyFile) -> _Facts | None:
    return _PARENT_CODE.get(token_text.digest(token_text.text(file.tokens, 0, len(file.tokens))))


def _read_type(name: str, file: RubyFile, find_file: FindFile) -> _Facts | None:
    """What a type's declaration determines; None if it has a statement with an unknown meaning."""
    if len(file.statements) != 1 or len(file.statements[0].blocks) != 1:
        return None
    statement = file.statements[0]
    head = token_text.text(file.tokens, statement.start, statement.blocks[0].start + 1)
    if head != f"Puppet :: Type . newtype ( :{name} ) do":
        return None
    return _merge({}, _type_facts(file, statement.blocks[0].statements, find_file))


def _type_facts(file: RubyFile, statements: Sequence[Statement], find_file: FindFile) -> Iterator[_Facts | None]:
    mixin: RubyFile | None = None
    for statement in statements:
        text = token_text.text(file.tokens, statement.start, statement.end)
        if text.startswith("extend "):
            mixin = find_constant_file(text.removeprefix("extend ").replace(" ", ""), find_file)
        elif mixin is not None and (method := mixin.method(text)) is not None:
            yield from _type_facts(mixin, method.blocks[0].statements, find_file)
            mixin = None
        else:
            yield _attribute_facts(file, statement, text)


def _attribute_facts(file: RubyFile, statement: Statement, text: str) -> _Facts | None:
    """What one statement in the body of a type determines."""
    block = statement.blocks[0] if statement.blocks else None
    head = token_text.text(file.tokens, statement.start, block.start + 1 if block else statement.end)
    inner = block.statements if block else ()
    if match := _VALUE_HEAD.fullmatch(head):
        found = (_meaning(file, each, _VALUE_FORMS) for each in inner)
        return _merge({"is_array": bool(match["is_array"])}, found)
    if (match := _PARAMETER_HEAD.fullmatch(head)) and match[1] in _PARAMETER_FORMS:
        return _merge({}, (_meaning(file, each, _PARAMETER_FORMS[match[1]]) for each in inner))
    return _meaning(file, statement, _TYPE_FORMS)


def _meaning(file: RubyFile, statement: Statement, forms: Sequence[_Form]) -> _Facts | None:
    """What a statement determines, by its form or its digest."""
    text = token_text.text(file.tokens, statement.start, statement.end)
    if text.startswith("desc "):
        return {}
    for form in forms:
        facts = form.read(text)
        if facts is not None:
            return facts
    return _CODE.get(token_text.digest(text))


def _merge(facts: _Facts | None, others: Iterator[_Facts | None]) -> _Facts | None:
    for each in others:
        if facts is None or each is None:
            return None
        facts = {**facts, **each}
    return facts


def _is_portable(pattern: str) -> bool:
    """Whether a regular expression means the same in Ruby and in Python with re.MULTILINE."""
    return re.fullmatch(r"(?:[\w /$^+*()\[\]|-]|\\[SsWwDd./])*", pattern) is not None
