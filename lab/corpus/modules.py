"""The classes and defines of a directory of modules, and what is known of their parameters.

A required parameter gets its value from the module's own examples, from the `let(:params)` of its specs, from its declared type, or, if
it has no type, from its name.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from lab.differential import module_declarations
from lab.differential.choices import Chooser, NoChoice
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.declarations.file_lexer import lex_file
from precast.lang.ruby.declarations.static_evaluation import StaticEvaluator
from precast.lang.ruby.declarations.static_methods import NotStatic
from precast.lang.ruby.syntax import nodes as ruby
from precast.lang.ruby.syntax.parser import parse_tokens
from precast.lang.ruby.values import Symbol
from precast.lang.syntax import ast
from precast.lang.syntax.parser import parse

# Values for parameters without a type, by a part of their name.
BY_NAME: Final[tuple[tuple[str, Any], ...]] = (
    ("password", "secret"), ("_dir", "/srv/data"), ("path", "/srv/data/x"), ("file", "/srv/data/x.conf"),
    ("port", "8080"), ("url", "http://h.example.test/x"),
    ("ensure", "present"), ("enable", True), ("manage", True), ("host", "h.example.test"), ("ip", "192.0.2.9"), ("address", "192.0.2.9"),
    ("user", "root"), ("group", "root"), ("mode", "0644"), ("version", "1.2.3"), ("options", {}), ("hash", {}),
    ("servers", ["h.example.test"]),
    ("content", "text"), ("source", "puppet:///modules/x/y"), ("command", "/bin/true"), ("key", "k"), ("value", "v"),
)  # fmt: skip
MAX_EXTRAS: Final = 5
MAX_EXAMPLES: Final = 40


class Declared(NamedTuple):
    """A class or define of a module, with the titles and parameters that its examples and specs give it."""

    module: str
    name: str
    is_class: bool
    parameters: tuple[ast.Parameter, ...]
    examples: tuple[tuple[str, dict[str, Any]], ...]


def declarations(root: Path, only: tuple[str, ...] = ()) -> Iterator[Declared]:
    """The classes and defines of all or some modules of a directory, in the order of their names."""
    for module in sorted(each for each in root.iterdir() if (each / "manifests").is_dir()):
        if only and module.name not in only:
            continue
        examples = _examples(module)
        for path in sorted((module / "manifests").rglob("*.pp")):
            program = _parse(path)
            for node in program.definitions if program is not None else ():
                if isinstance(node, ast.HostClassDefinition | ast.ResourceTypeDefinition):
                    is_class = isinstance(node, ast.HostClassDefinition)
                    given = tuple(examples.get(node.name, ())[:MAX_EXAMPLES])
                    yield Declared(module.name, node.name, is_class, tuple(node.parameters), given)


def values(declared: Declared, chance: random.Random, extras: int) -> dict[str, Any] | None:
    """Values for the required parameters and for some others; None if a required one has no sensible value."""
    chooser = Chooser(chance)
    known = [given for _, given in declared.examples]
    chosen: dict[str, Any] = {}
    for parameter in declared.parameters:
        if parameter.default is None and not _takes_undef(parameter):
            value = _required(parameter, chooser, known)
            if value is None:
                return None
            chosen[parameter.name] = value
    others = [each for each in declared.parameters if each.name not in chosen and each.default is not None]
    for parameter in chance.sample(others, min(extras, len(others))):
        try:
            chosen[parameter.name] = chooser.value(parameter)
        except (NoChoice, RecursionError):
            continue
    return chosen


def _takes_undef(parameter: ast.Parameter) -> bool:
    """Whether a parameter without a default accepts undef, so that nothing must be given."""
    kind = parameter.type_expr
    return (
        isinstance(kind, ast.Access) and isinstance(kind.left, ast.QualifiedReference) and kind.left.name == "Optional"
    )


def _required(parameter: ast.Parameter, chooser: Chooser, known: list[dict[str, Any]]) -> Any:
    for given in known:
        if given.get(parameter.name) is not None:
            return given[parameter.name]
    try:
        return chooser.value(parameter) if parameter.type_expr is None else chooser.of(parameter.type_expr)
    except (NoChoice, RecursionError):
        pass
    if parameter.type_expr is not None:
        return None
    return next((value for part, value in BY_NAME if part in parameter.name), "value")


# Examples and specs


def _examples(module: Path) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The titles and literal parameters of each class and define that examples declare, and the parameters that specs give."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for folder in ("examples", "tests"):
        for path in sorted((module / folder).glob("**/*.pp")):
            program = _parse(path)
            for node in _walk(program):
                if isinstance(node, ast.Resource):
                    for name, title, given in _declared_in(node):
                        found.setdefault(name, []).append((title, given))
    for path in sorted((module / "spec").glob("*/**/*_spec.rb")):
        for name, given in _of_spec(path):
            found.setdefault(name, []).append(("", given))
    return found


def _parse(path: Path) -> ast.Program | None:
    try:
        return parse(Source(str(path), path.read_text(encoding="utf-8")))
    except (PrecastError, UnicodeDecodeError, OSError, RecursionError):
        return None


def _walk(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _walk(item)
    elif hasattr(value, "__struct_fields__"):
        yield value
        for field in value.__struct_fields__:
            yield from _walk(getattr(value, field))


def _declared_in(node: ast.Resource) -> Iterator[tuple[str, str, dict[str, Any]]]:
    kind = getattr(node.type_name, "value", None)
    for body in node.bodies:
        title = getattr(body.title, "value", None)
        if not isinstance(kind, str) or not isinstance(title, str):
            continue
        name = title.lower().removeprefix("::") if kind == "class" else kind.lower().removeprefix("::")
        given = {}
        for attribute in body.operations:
            value = _literal(getattr(attribute, "value", None))
            if value is not None and hasattr(attribute, "name"):
                given[attribute.name] = value
        yield name, title, given


def _literal(node: Any) -> Any:
    """The plain value of an expression; None if it is no literal."""
    if isinstance(
        node, ast.LiteralString | ast.QualifiedName | ast.LiteralInteger | ast.LiteralBoolean | ast.LiteralFloat
    ):
        return node.value
    if isinstance(node, ast.LiteralList):
        items = [_literal(item) for item in node.elements]
        return None if any(item is None for item in items) else items
    if isinstance(node, ast.LiteralHash):
        pairs = [(_literal(entry.key), _literal(entry.value)) for entry in node.entries]
        return None if any(None in pair for pair in pairs) else dict(pairs)
    return None


def _of_spec(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """What `let(:params)` gives the class or define that a spec describes."""
    text = path.read_text(encoding="utf-8", errors="replace")
    described = re.search(r"describe\s*\(?\s*['\"]([a-z0-9_:]+)['\"]", text)
    if described is None or "params" not in text:
        return
    try:
        tree = parse_tokens(source := Source(str(path), text), lex_file(source)[:-1])
    except (PrecastError, RecursionError):
        return
    for node in _walk(tree):
        if isinstance(node, ruby.Call) and node.name == "let" and isinstance(node.block, ruby.Block):
            first = node.args[0] if node.args else None
            if isinstance(first, ruby.Literal) and first.value == Symbol("params"):
                given = _static_hash(node.block.body)
                if given:
                    yield described[1], given


def _static_hash(body: Any) -> dict[str, Any]:
    while isinstance(body, ruby.Sequence) and len(body.statements) == 1:
        body = body.statements[0]
    if not isinstance(body, ruby.HashLiteral):
        return {}
    given: dict[str, Any] = {}
    for key, value in body.pairs:
        try:
            name, known = StaticEvaluator({}, None).value(key), StaticEvaluator({}, None).value(value)
        except (NotStatic, RecursionError, TypeError):
            continue
        plain = _plain(known)
        if plain is not None:
            given[str(_plain(name))] = plain
    return given


def _plain(value: Any) -> Any:
    """A Ruby value as plain data; None if it has no such form."""
    if isinstance(value, Symbol):
        return None if value.name == "undef" else value.name
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool) else None


def use(roots: list[Path]) -> None:
    """Find declarations and type aliases in these directories."""
    module_declarations.use(roots)
