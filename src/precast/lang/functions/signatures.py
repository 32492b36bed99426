"""Signatures of functions: texts in Puppet's types, parsed once and turned into checks.

Most signatures have few and simple types, so a check is one call for each argument, and none for Any. A block is checked by the
number of its parameters; the types of its parameters matter only if the signature names types.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from precast.lang.datatypes import Type, parse_type
from precast.lang.functions.host import Block

ArgumentCheck = Callable[[Sequence[Any], Block | None], bool]


@cache
def parse_signature_type(text: str) -> Type:
    """Return a type from its text, which may name only core types."""
    return parse_type(text)


class Parameter(NamedTuple):
    """A parameter as declared, with its type as text."""

    type_text: str
    name: str
    optional: bool = False
    repeated: bool = False


class Signature:
    """The signature of one dispatch: parameters, block, return type."""

    def __init__(self, text: str) -> None:
        parameters, _, self.return_text = (part.strip() for part in text.partition(">>"))
        self.parameters: list[Parameter] = []
        self.block_text = ""
        self.block_optional = False
        self.min_args = 0
        self.max_args: int | None = 0
        for declared in split(parameters):
            self._add(declared)

    def _add(self, declared: str) -> None:
        type_text, _, name = declared.rpartition(" ")
        optional = name.endswith("?")
        name = name.removesuffix("?")
        if name[0] == "&":
            self.block_text, self.block_optional = type_text, optional
            return
        repeated = name[0] in "*+"
        if not optional and name[0] != "*":
            self.min_args += 1
        self.max_args = None if repeated or self.max_args is None else self.max_args + 1
        self.parameters.append(Parameter(type_text, name.lstrip("*+"), optional or name[0] == "*", repeated))

    def accepts_count(self, count: int) -> bool:
        return self.min_args <= count and (self.max_args is None or count <= self.max_args)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        return tuple(parse_signature_type(parameter.type_text) for parameter in self.parameters)

    @cached_property
    def block_type(self) -> Type | None:
        return parse_signature_type(self.block_text) if self.block_text else None

    def type_of(self, index: int) -> Type:
        """Return the type of the argument at an index; a repeated last parameter covers all further arguments."""
        return self.types[min(index, len(self.types) - 1)]

    def make_check(self, count: int) -> ArgumentCheck:
        """Return the check of this many arguments, a number that the signature accepts, and of a block. Callers cache it."""
        last = len(self.parameters) - 1
        parameters = [(index, min(index, last)) for index in range(count)]
        checks = [(index, self.types[at].check) for index, at in parameters if self.parameters[at].type_text != "Any"]
        if self.block_text:
            accepts_block = self.accepts_block
            return lambda args, block: accepts_block(block) and _all_accept(checks, args)
        if not checks:
            return lambda args, block: block is None
        if len(checks) == 1:
            index, check = checks[0]
            return lambda args, block: block is None and check(args[index])
        return lambda args, block: block is None and _all_accept(checks, args)

    @cached_property
    def block_counts(self) -> tuple[int, int | None] | None:
        """The numbers in `Callable[1, 2]`: how many arguments the block gets; None if the signature names types."""
        inner = self.block_text.removeprefix("Callable").strip("[]")
        if not inner:
            return (0, None)
        counts = [part.strip() for part in inner.split(",")]
        if len(counts) == 2 and all(part.isdigit() or part == "default" for part in counts):
            return int(counts[0]), None if counts[1] == "default" else int(counts[1])
        return None

    def accepts_block(self, block: Block | None) -> bool:
        if block is None:
            return not self.block_text or self.block_optional
        if self.block_text == "Callable":
            return True
        if not self.block_text:
            return False
        counts = self.block_counts
        if counts is None:
            assert self.block_type is not None
            return self.block_type.accepts(block.type)
        least, most = counts
        return block.min_args <= least and (block.max_args is None or (most is not None and most <= block.max_args))

    def __str__(self) -> str:
        texts = [f"{p.type_text} {p.name}{'*' if p.repeated else '?' if p.optional else ''}" for p in self.parameters]
        if self.block_text:
            texts.append(f"{self.block_text} block{'?' if self.block_optional else ''}")
        return ", ".join(texts)


def _all_accept(checks: Sequence[tuple[int, Callable[[Any], bool]]], args: Sequence[Any]) -> bool:
    for index, check in checks:  # noqa: SIM110 - a generator costs more than most checks
        if not check(args[index]):
            return False
    return True


def split(text: str) -> list[str]:
    """Return the parts between commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]
