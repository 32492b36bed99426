"""`left[keys]`: elements, slices, substrings, type parameters, parameters of declared resources.

A chain such as `$facts['os']['family']` asks one question, for the whole path: asking for the fact `os` would make the catalog depend
on every part of it. Only if the path does not exist is its longest existing part read, to report what is wrong.
"""

from typing import TYPE_CHECKING, Any

from precast.base.errors import PrecastError
from precast.lang import datatypes
from precast.lang.datatypes import Type
from precast.lang.evaluator.arithmetic import kind_with_article, number_in
from precast.lang.evaluator.literals import elements
from precast.lang.evaluator.translation import Code, Translator, place, translates, unwrap
from precast.lang.inputs import ABSENT
from precast.lang.issues import compiler as issues
from precast.lang.scope import MISSING, Scope
from precast.lang.syntax import ast
from precast.lang.values.base import Hash, to_string

if TYPE_CHECKING:
    from precast.lang.compiler.compilation import Compilation


@translates(ast.Access)
def translate_access(to: Translator, node: ast.Access) -> Code:
    root, chain = _chain(node)
    if isinstance(root, ast.Variable) and not root.name.isdigit():
        return _variable_chain(to, root, chain)
    left, keys = to.code(node.left), elements(to, node.keys)
    source, span = to.source, node.span
    constant = _folded(to, left, keys)
    if constant is not MISSING:
        return to.constant(constant)

    def code(scope: Scope) -> Any:
        try:
            return access_value(scope, left(scope), keys(scope))
        except PrecastError as error:
            raise place(error, source, span) from None

    return code


def _folded(to: Translator, left: Code, keys: Code) -> Any:
    """The type that a core type with constant parameters makes; MISSING for everything else, including errors."""
    kind, given = to.constant_of(left), to.constant_of(keys)
    if not isinstance(kind, Type) or given is MISSING or isinstance(kind, datatypes.ResourceType | datatypes.ClassType):
        return MISSING
    try:
        return datatypes.index(kind, given)
    except PrecastError:
        return MISSING


def _chain(node: ast.Access) -> tuple[ast.Node, list[ast.Access]]:
    """The expression at the start of a chain of accesses, and the accesses from left to right."""
    chain = [node]
    left = unwrap(node.left)
    while isinstance(left, ast.Access):
        chain.append(left)
        left = unwrap(left.left)
    return left, chain[::-1]


def _variable_chain(to: Translator, root: ast.Variable, chain: list[ast.Access]) -> Code:
    start = to.code(root)
    name = root.name.removeprefix("::")
    steps = tuple((elements(to, link.keys), link.span) for link in chain)
    source = to.source
    may_be_fact = "::" not in name
    top_only = root.name.startswith("::")
    plain = all(len(link.keys) == 1 and not isinstance(unwrap(link.keys[0]), ast.Splat) for link in chain)

    def code(scope: Scope) -> Any:
        if may_be_fact and plain and scope.compilation.is_fact(scope, name, top_only):
            return _fact(scope, name, [keys(scope)[0] for keys, _ in steps], steps, source)
        return _walk(scope, start(scope), [keys(scope) for keys, _ in steps], steps, source)

    def single(scope: Scope) -> Any:
        """The common case of one key, without building lists."""
        if may_be_fact and plain and scope.compilation.is_fact(scope, name, top_only):
            return _fact(scope, name, [keys(scope)[0]], steps, source)
        try:
            return access_value(scope, start(scope), keys(scope))
        except PrecastError as error:
            raise place(error, source, span) from None

    keys, span = steps[0]
    return single if len(steps) == 1 else code


def _walk(scope: Scope, value: Any, keys: list[Any], steps: Any, source: Any) -> Any:
    for given, (_, span) in zip(keys, steps, strict=True):
        try:
            value = access_value(scope, value, given)
        except PrecastError as error:
            raise place(error, source, span) from None
    return value


def _fact(scope: Scope, name: str, keys: list[Any], steps: Any, source: Any) -> Any:
    compilation: Compilation = scope.compilation
    keys = [compilation.concrete(key) for key in keys]
    if all(type(key) is str or type(key) is int for key in keys):
        value = compilation.fact_value(name, tuple(keys))
        if value is not ABSENT:
            return value
        for depth in range(len(keys) - 1, -1, -1):
            path = tuple(keys[:depth])
            kind = compilation.fact_kind(name, path)
            if kind == "hash":  # the hash lacks the key, so no further question is needed
                return _walk(scope, None, [(key,) for key in keys[depth + 1 :]], steps[depth + 1 :], source)
            if kind != "absent" and depth:
                value = compilation.fact_value(name, path, whole=True)
                return _walk(scope, value, [(key,) for key in keys[depth:]], steps[depth:], source)
    value = compilation.fact_value(name, (), whole=True)
    return _walk(scope, None if value is ABSENT else value, [(key,) for key in keys], steps, source)


def access_value(scope: Scope, value: Any, keys: tuple[Any, ...]) -> Any:
    """The part of a value that the keys select. Raises if the value cannot be accessed this way."""
    if scope.compilation.has_unknowns:
        keys = scope.compilation.concrete(keys)
        value = scope.compilation.concrete_top(value)
    if isinstance(value, Hash):
        return _entries(value, keys)
    if isinstance(value, tuple):
        return _elements(scope.compilation, value, _flat(keys))
    if isinstance(value, str):
        return _substring(scope.compilation, value, _flat(keys))
    if isinstance(value, Type):
        return _of_type(scope, value, keys)
    raise issues.NOT_APPLICABLE.error(operator="[]", left=kind_with_article(value))


def _flat(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    flat: list[Any] = []
    for key in keys:
        if isinstance(key, tuple):
            flat.extend(_flat(key))
        else:
            flat.append(key)
    return tuple(flat)


def _entries(value: Hash, keys: tuple[Any, ...]) -> Any:
    if len(keys) == 1:
        key = keys[0]
        return dict.get(value, key) if type(key) is str else value.lookup(key)
    if not keys:
        raise issues.BAD_SLICE.error(what="A Hash", wanted="one or more", count=0)
    items = (value.lookup(key) for key in keys)
    return tuple(item for item in items if item is not None)


def _elements(compilation: "Compilation", value: tuple[Any, ...], keys: tuple[Any, ...]) -> Any:
    if len(keys) == 1:
        index = keys[0]
        if type(index) is not int:
            index = _index(compilation, index)
        return value[index] if -len(value) <= index < len(value) else None
    if len(keys) != 2:
        raise issues.BAD_SLICE.error(what="An Array", wanted="one or two", count=len(keys))
    start, count = _window(len(value), _index(compilation, keys[0]), _index(compilation, keys[1]))
    return value[start : start + count] if count > 0 else ()


def _window(length: int, start: int, count: int) -> tuple[int, int]:
    """The start and length of a slice; a negative length counts from the end."""
    if start < 0:
        start += length
    if count < 0:
        count = length - start + count + 1
    if start < 0:
        count += start
        start = 0
    return start, count


def _index(compilation: "Compilation", key: Any, text: bool = False) -> int:
    number = key
    if isinstance(key, str):
        number = number_in(key)
        if number is not None and not text:
            compilation.complain(issues.NUMERIC_COERCION, before=key, after=to_string(number))
    if type(number) is not int:
        got = kind_with_article(key if number is None else number)
        issue = issues.BAD_CHARACTER_INDEX if text else issues.BAD_INDEX
        raise issue.error(got=got)
    return number


def _substring(compilation: "Compilation", value: str, keys: tuple[Any, ...]) -> str:
    if len(keys) == 1:
        index = _index(compilation, keys[0], text=True)
        if index < 0:
            index += len(value)
        return value[index : index + 1] if index >= 0 else ""
    if len(keys) != 2:
        raise issues.BAD_SLICE.error(what="String", wanted="one or two", count=len(keys))
    start, count = _window(len(value), _index(compilation, keys[0], text=True), _index(compilation, keys[1], text=True))
    return value[start : start + count] if count > 0 else ""


def _of_type(scope: Scope, value: Type, keys: tuple[Any, ...]) -> Any:
    """Parameters of a declared resource or class; for any other type, the type with these parameters."""
    if isinstance(value, datatypes.ResourceType) and value.title is not None:
        return _resource_parameters(scope, value.type_name, value.title, keys)
    if isinstance(value, datatypes.ClassType) and value.class_name is not None:
        return _resource_parameters(scope, "class", value.class_name, keys)
    return scope.compilation.indexed(scope, value, keys)


def _resource_parameters(scope: Scope, type_name: Any, title: str, keys: tuple[Any, ...]) -> Any:
    values = tuple(scope.compilation.resource_parameter(type_name, title, key) for key in keys)
    return values[0] if len(values) == 1 else values
