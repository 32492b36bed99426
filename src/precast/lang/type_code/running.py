"""Runs the code of one type of a module over the resources of a catalog: which are refused, and what they follow.

A resource is refused only if the code itself raises an error. What the subset cannot run, and what only a node knows, is not checked, and
never an error: the node that applies the resource runs the code again.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.ruby.code import read_code
from precast.lang.functions.ruby.puppet_classes import CompileExecution
from precast.lang.issues import erb as issues
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method, plain_text
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import from_ruby, to_s
from precast.lang.type_code.classes import TypeClass, declared_types
from precast.lang.type_code.instances import RefusedError, TypeObject, refusal, set_values


class TypeExecution(CompileExecution):
    """An execution of type code: what it asks of Facter are facts of the node whose catalog is compiled, and questions of the trace."""

    class_methods: ClassVar[Mapping[str, Mapping[str, Any]]] = {}


def _fact(execution: Execution, this: Constant, args: list[Any], block: Proc | None) -> Any:
    path = plain_text(execution, args[0]).split(".")
    value = execution.look_up(path[0])
    for part in path[1:]:
        value = value.get(part) if isinstance(value, dict) else None
    return value


TypeExecution.class_methods = {"Facter": {"value": _fact}}


class Refused(NamedTuple):
    """The error that type code raised; `attribute` is empty if it refused the resource as a whole."""

    attribute: str
    reason: str


class Relation(NamedTuple):
    """Titles of another type that a resource follows (require) or precedes (before)."""

    kind: str
    type_name: str
    titles: tuple[str, ...]


class CheckedResource(NamedTuple):
    """What type code says of one resource. `relations` is None if the subset could not run one of their blocks."""

    refused: Refused | None = None
    relations: tuple[Relation, ...] | None = None


class TypeCode:
    """The code of one type in one compile."""

    def __init__(self, execution: TypeExecution, kind: TypeClass) -> None:
        self._execution = execution
        self._kind = kind

    def required(self) -> tuple[Source, ...]:
        """The files that the type's file has loaded."""
        return tuple(self._execution.required.values())

    def attributes(self) -> list[str]:
        return [*self._kind.properties, *self._kind.parameters]

    def namevars(self) -> list[str]:
        return self._kind.namevars()

    def words(self, name: str) -> tuple[str, ...]:
        """The words that an attribute accepts."""
        declared = self._kind.attribute(name)
        return () if declared is None else declared.accepted.words()

    def names_of_title(self, title: str) -> dict[str, Any] | None:
        """Return the attributes that the first matching title pattern sets; None if the code cannot run, or no pattern matches."""
        if self._kind.find_own("title_patterns") is None:
            return None
        try:
            patterns = call_method(self._execution, self._kind, "title_patterns", [], None)
            for pattern, targets, *_ in patterns:
                match = pattern.compiled.search(title)
                if match is not None:
                    return self._captured(targets, match.groups())
        except (PrecastError, RecursionError, TypeError, ValueError, AttributeError):
            return None
        return None

    def _captured(self, targets: list[Any], captures: tuple[str | None, ...]) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for target, capture in zip(targets, captures, strict=False):
            name, *change = target if isinstance(target, list) else [target]
            value = change[0].call(capture) if change and change[0] is not None else capture
            if value is not None:
                names[plain_text(self._execution, name)] = from_ruby(value)
        return names

    def check(self, title: str, values: dict[str, Any]) -> CheckedResource:
        """Return what the code says of a resource with these values in Ruby's form; `UNKNOWN` stands for one that is not known."""
        resource = TypeObject(self._kind, title, values)
        execution = self._execution
        execution.steps = execution.depth = 0
        try:
            set_values(execution, resource)
            self._validate(resource)
        except RefusedError as refused:
            return CheckedResource(Refused(refused.attribute, refused.reason))
        except RecursionError:
            return CheckedResource()
        return CheckedResource(None, self._relations(resource))

    def _validate(self, resource: TypeObject) -> None:
        if self._kind.find("validate") is None:
            return
        try:
            call_method(self._execution, resource, "validate", [], None)
        except PrecastError as error:
            reason = refusal(error)
            if reason is not None:
                raise RefusedError("", reason) from None

    def _relations(self, resource: TypeObject) -> tuple[Relation, ...] | None:
        relations: list[Relation] = []
        for kind, type_name, block in self._kind.relations:
            assert block.call_as is not None
            try:
                value = block.call_as(resource, None, (resource,))
            except (PrecastError, RecursionError):
                return None
            titles = value if isinstance(value, list) else [value]
            texts = tuple(str(to_s(title)) for title in titles if title is not None and not isinstance(title, list))
            relations += [Relation(kind, type_name, texts)] if texts else []
        return tuple(relations)


def load_type(host: Any, scope: Any, name: str, path: str, digest: str, text: str) -> TypeCode | None:
    """Run the file of a type; None if the file declares another type. Raises the errors of its code."""
    execution = TypeExecution(host, scope, path)
    code = read_code(path, digest, text)
    try:
        code.body(Frame(execution, code.scope))
    except RecursionError:
        raise issues.TOO_DEEP.error() from None
    kind = declared_types(execution).get(name)
    return None if kind is None else TypeCode(execution, kind)
