"""tree_each: iterates over every value of a nested structure with its path, depth or breadth first."""

from collections import deque
from collections.abc import Iterator as PythonIterator
from typing import Any

from precast.lang.control_flow import Break
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.signatures import parse_signature_type
from precast.lang.issues import functions as issues
from precast.lang.values.base import Hash, Iterator, Object

Path = tuple[Any, ...]

TREE = (
    "Variant[Iterator, Array, Hash, Object] tree, Struct[{'container_type' => Optional[Type], 'include_root' => Optional[Boolean], "
    "'include_containers' => Optional[Boolean], 'include_values' => Optional[Boolean], "
    "'order' => Optional[Enum['depth_first', 'breadth_first']], 'include_refs' => Optional[Boolean]}] options?"
)
TREE_EACH = Function(
    "tree_each",
    "Iterates over a tree of arrays, hashes and objects. A block of two parameters gets path and value, a block of one gets the "
    "value; without a block, returns an Iterator of [path, value]. Options: order, include_root, include_containers, include_values, "
    "include_refs, container_type.",
    unknowns=Unknowns.FLOW,
)


class _Walk:
    """A walk over a tree with its options."""

    def __init__(self, options: Hash) -> None:
        self.root = options.get("include_root") is not False
        self.containers = options.get("include_containers") is not False
        self.values = options.get("include_values") is not False
        self.breadth = options.get("order") == "breadth_first"
        self.references = options.get("include_refs") is True
        kind = options.get("container_type")
        self.container_type = kind or parse_signature_type("Variant[Array, Hash, Object]")
        if not (self.containers or self.values):
            raise issues.EMPTY_TREE_WALK.error()
        if kind is not None and not parse_signature_type("Type[Variant[Array, Hash, Object]]").check(kind):
            raise issues.BAD_CONTAINER_TYPE.error(type=str(kind))

    def children(self, value: Any) -> list[tuple[Any, Any]] | None:
        """Return steps and values below a container, None for other values."""
        if not self.container_type.check(value):
            return None
        if isinstance(value, tuple):
            return list(enumerate(value))
        if isinstance(value, Hash):
            return list(value.items())
        if not isinstance(value, Object):
            return None
        return [
            (attribute.name, value.attributes.get(attribute.name))
            for attribute in value.type.attributes.values()
            if attribute.is_given and (self.references or attribute.kind != "reference")
        ]

    def run(self, root: Any) -> PythonIterator[tuple[Path, Any]]:
        pending: deque[tuple[Path, Any]] = deque([((), root)])
        while pending:
            path, value = pending.popleft()
            below = self.children(value)
            is_included = self.values if below is None else self.containers
            if is_included and (path or self.root):
                yield path, value
            items = [((*path, step), item) for step, item in below or ()]
            if self.breadth:
                pending.extend(items)
            else:
                pending.extendleft(reversed(items))


def _walk(value: Any, options: Hash | None) -> PythonIterator[tuple[Path, Any]]:
    root = tuple(value.items) if isinstance(value, Iterator) else value
    return _Walk(options or Hash()).run(root)


@TREE_EACH.dispatch(TREE + ", Callable[2, 2] &block")
def _each_with_path(call: Call, value: Any, options: Hash | None = None) -> Any:
    try:
        for path, item in _walk(value, options):
            call.run_block(path, item)
    except Break:
        pass
    return value


@TREE_EACH.dispatch(TREE + ", Callable[1, 1] &block")
def _each_value(call: Call, value: Any, options: Hash | None = None) -> Any:
    try:
        for _, item in _walk(value, options):
            call.run_block(item)
    except Break:
        pass
    return value


@TREE_EACH.dispatch(TREE)
def _iterator(value: Any, options: Hash | None = None) -> Iterator:
    return Iterator(tuple(_walk(value, options)), parse_signature_type("Tuple[Array, Any]"))
