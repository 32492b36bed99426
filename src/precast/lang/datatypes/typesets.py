"""TypeSets: named sets of types."""

from collections.abc import Mapping
from typing import Final

from precast.lang.datatypes.base import Check, Seen, Type, Write
from precast.lang.datatypes.objects import ObjectType
from precast.lang.datatypes.rich import ObjectLike
from precast.lang.values.base import Hash, literal, quoted


class TypeSetType(ObjectLike):
    """A named set of types."""

    name = "TypeSet"

    def __init__(self, init: Hash, types: Mapping[str, Type], label: str = "") -> None:
        self.init = init
        self.types = dict(types)
        self.label = label

    def named(self, label: str) -> "TypeSetType":
        self.label = label
        for cached in ("text", "key", "_hash"):
            self.__dict__.pop(cached, None)
        for name, member in self.types.items():
            if isinstance(member, ObjectType):
                member.named(f"{label}::{name}")
        return self

    def parameters(self) -> tuple[object, ...]:
        return self.label, self.init

    def form(self, write: Write) -> str:
        return self.label or str(self)

    def __str__(self) -> str:
        authority = self.init.get("name_authority", "http://puppet.com/2016.1/runtime")
        fields = [f"pcore_uri => {quoted(self.init['pcore_uri'])}"] if "pcore_uri" in self.init else []
        fields += [
            f"pcore_version => {literal(self.init.get('pcore_version', '1.0.0'))}",
            f"name_authority => {quoted(authority)}",
            f"name => {quoted(self.label)}",
            f"version => {literal(self.init.get('version', '0.0.0'))}",
        ]
        if self.types:
            fields.append(f"types => {{{', '.join(f'{name} => {self._member(t)}' for name, t in self.types.items())}}}")
        return f"TypeSet[{{{', '.join(fields)}}}]"

    def _member(self, member: Type) -> str:
        return member.definition() if isinstance(member, ObjectType) else member.text

    def build_check(self) -> Check:
        return lambda value: False

    def _accepts(self, other: Type, seen: Seen) -> bool:
        return isinstance(other, TypeSetType) and (not self.types or self == other)


TYPE_SET: Final = TypeSetType(
    Hash(pcore_uri="http://puppet.com/2016.1/pcore", pcore_version="1.0.0", version="0.0.0"), {}, "DefaultTypeSet"
)
