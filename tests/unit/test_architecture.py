"""The house as DESIGN draws it: a package imports only packages listed above it, and what runs on a node stays small."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "precast"

HOUSE = [
    "base", "net", "running", "wire", "catalog", "types", "lang", "plans", "resources", "agent", "boot",
    "store", "services", "api", "web", "app", "cli", "__main__",
]  # fmt: skip
PURE = {"net", "wire", "catalog", "types", "lang", "plans"}
ON_THE_NODE = {"base", "net", "running", "wire", "catalog", "types", "lang", "resources", "agent", "boot"}
NODE_PACKAGES = {"websockets", "msgspec", "yaml", "cryptography"}
# What a pure package never touches: the outside world, the clock, chance, and waiting.
IMPURE = {
    "asyncio",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the product with the room it lives in."""
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room != "__init__":
            yield room, path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports, at its top or inside."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def all_imports() -> list[tuple[str, str, str]]:
    return [
        (room, f"{path.relative_to(ROOT)}:{line}", name) for room, path in modules() for line, name in imports(path)
    ]


def test_every_room_is_in_the_house_plan() -> None:
    assert {room for room, _ in modules()} <= set(HOUSE)


def test_imports_point_upwards_only() -> None:
    wrong = []
    for room, place, name in all_imports():
        parts = name.split(".")
        if parts[0] == "precast" and len(parts) > 1 and parts[1] in HOUSE and HOUSE.index(parts[1]) > HOUSE.index(room):
            wrong.append(f"{place} imports {name}")
    assert wrong == []


def test_pure_rooms_touch_nothing_outside() -> None:
    assert [
        f"{place} imports {name}"
        for room, place, name in all_imports()
        if room in PURE and name.split(".")[0] in IMPURE
    ] == []


def test_what_runs_on_a_node_needs_only_the_node_packages() -> None:
    allowed = NODE_PACKAGES | set(sys.stdlib_module_names) | {"precast"}
    assert [
        f"{place} imports {name}"
        for room, place, name in all_imports()
        if room in ON_THE_NODE and name.split(".")[0] not in allowed
    ] == []


def test_plain_install_brings_the_node_packages_and_no_more() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {line.split(">")[0] for line in project["dependencies"]} == {
        "cryptography",
        "msgspec",
        "pyyaml",
        "websockets",
    }


# What a process that lives as long as its machine must not carry around.
NOT_IN_THE_DAEMON = [
    "aiohttp", "asyncpg", "cryptography", "uvloop", "yaml", "zoneinfo", "logging.handlers", "multiprocessing", "pickle",
    "precast.agent.identity.enrolment", "precast.agent.facts", "precast.api", "precast.lang", "precast.services", "precast.store",
]  # fmt: skip


def test_agents_daemon_loads_nothing_large() -> None:
    script = (
        "import sys; import precast.__main__; from precast.cli.main import build_parser; build_parser(['agent']);"
        "import precast.agent.daemon; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "precast.agent.connection.session" in loaded
    assert [
        name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in NOT_IN_THE_DAEMON)
    ] == []


@pytest.mark.parametrize("forbidden", ["pickle", "marshal", "shelve"])
def test_no_module_loads_what_can_run_code(forbidden: str) -> None:
    assert [place for _, place, name in all_imports() if name.split(".")[0] == forbidden] == []


# What serves the requests and messages of nodes, and what compiles.
FOR_NODES = [
    "precast.api.facts",
    "precast.api.sessions.hub",
    "precast.api.nodes.policies",
    "precast.api.sessions.records",
    "precast.api.catalogs.catalogs",
    "precast.api.sessions.run_records",
]
COMPILES = {"precast.services.compile.compiler", "precast.services.compile.workers", "precast.lang.compile"}


def test_all_that_serves_nodes_is_known() -> None:
    declaring = {
        "precast." + str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".")
        for room, path in modules()
        if room == "api" and "precast.api.http.routes.NODE" in {name for _, name in imports(path)}
    }
    assert declaring == set(FOR_NODES)


def test_nothing_that_serves_nodes_reaches_the_compiler() -> None:
    """S1.6: no request of an agent leads to a compile; it is not even imported."""
    reached, waiting = set(FOR_NODES), list(FOR_NODES)
    while waiting:
        path = SOURCE.parent / (waiting.pop().replace(".", "/") + ".py")
        path = path if path.exists() else path.with_suffix("") / "__init__.py"
        for _, name in imports(path):
            for module in (name, name.rpartition(".")[0]):
                there = SOURCE.parent / module.replace(".", "/")
                is_module = there.with_suffix(".py").exists() or (there / "__init__.py").exists()
                if module.startswith("precast") and is_module and module not in reached:
                    reached.add(module)
                    waiting.append(module)
    assert "precast.services.facts.facts" in reached
    assert reached & COMPILES == set()
