"""No process of a server matches a regular expression that others wrote with an engine that backtracks."""

import ast
import fnmatch
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "precast"
LAYERS = ("services", "api", "app", "store", "wire", "web")
MODULES = frozenset(("re", "regex", "fnmatch", "glob"))
# Calls with another pattern than a text in the code, with the reason why they are safe.
ALLOWED = {
    "wire/query/patterns.py: re.compile(expression, flags)": "one class of characters, matched against one character",
    "wire/identity/names.py: fnmatch.fnmatchcase(name, pattern)": "globs never backtrack; the next test proves it",
    "services/query/resource_lookups.py: fnmatch.fnmatchcase(resource.title, pattern)": "the same",
}
# Modules that only processes import that can be killed: their patterns come from code.
CHILDREN = frozenset(("services/traces/costly_child.py", "services/compile/worker.py", "services/code/check_child.py"))


def calls() -> Iterator[str]:
    """The calls of expression engines whose pattern is not constant."""
    for layer in LAYERS:
        for path in sorted((SOURCE / layer).rglob("*.py")):
            name = path.relative_to(SOURCE).as_posix()
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                    yield f"{name}: {ast.unparse(node)}"
                if isinstance(node, ast.Call) and _is_engine(node.func) and not _is_constant(node):
                    yield f"{name}: {ast.unparse(node)}"


def _is_engine(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in MODULES
        and function.attr not in ("escape", "error")
    )


def _is_constant(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(call.func.value, ast.Name)
    if call.func.value.id != "re" or not call.args:
        return False
    # A text, or one that is put together from constants of its module.
    return all(
        isinstance(
            part,
            ast.Constant
            | ast.JoinedStr
            | ast.FormattedValue
            | ast.BinOp
            | ast.Tuple
            | ast.Attribute
            | ast.operator
            | ast.Load,
        )
        or (isinstance(part, ast.Name) and part.id.isupper())
        for part in ast.walk(call.args[0])
    )


def test_no_expression_that_others_wrote_is_matched_by_backtracking() -> None:
    assert sorted(set(calls()) - ALLOWED.keys()) == []


def test_reason_is_given_only_for_calls_that_exist() -> None:
    assert ALLOWED.keys() <= set(calls())


def test_glob_does_not_backtrack() -> None:
    # Everything between two stars is an atomic group: what it has matched is never tried in another way.
    assert fnmatch.translate("*a*b*c").count("(?>") == 2
    assert not fnmatch.fnmatchcase("a" * 5_000, "*a" * 500 + "b")


def test_server_imports_the_backtracking_engine_of_the_language_only_in_processes_that_can_be_killed() -> None:
    users = {
        path.relative_to(SOURCE).as_posix()
        for layer in LAYERS
        for path in (SOURCE / layer).rglob("*.py")
        if "compile_regexp" in path.read_text() or "node_matching import match_node\n" in path.read_text()
    }
    assert users <= CHILDREN
