"""The architecture as DESIGN describes it: the order of packages, the rooms of each layer, and what the programs on a node may import.

Each rule is a function of a source tree that returns its violations, one line each with the file. The tests at the end apply the rules
to small made-up trees that break them.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "precast"

# A package imports only packages that stand before it in this list.
PACKAGE_ORDER = [
    "base", "net", "running", "wire", "catalog", "types", "lang", "plans", "resources", "agent", "boot",
    "store", "services", "api", "web", "app", "cli", "__main__",
]  # fmt: skip
PURE = {"net", "wire", "catalog", "types", "lang", "plans"}
ON_THE_NODE = {"base", "net", "running", "wire", "catalog", "types", "lang", "resources", "agent", "boot"}
NODE_PACKAGES = {"websockets", "msgspec", "yaml", "cryptography"}
# Pure packages use none of these: no input or output, no clock, no randomness, no waiting.
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

MAX_FILES = 20
# Folders with one file per kind of thing may have any number of files.
ONE_FILE_PER_KIND = {"resources", "boot/sources", "boot/modules", "lang/functions", "lang/functions/modules"}

# The rooms of the layers below: the same features have the same names in every layer.
FEATURES = {
    "identity", "nodes", "query", "facts", "code", "traces", "compile", "catalogs", "sessions", "jobs", "reports",
    "actions", "approvals", "plans", "futures", "secrets", "exports", "windows",
}  # fmt: skip
# What else stands directly under a layer.
EXTRA_ROOMS = {
    "wire": {"issues"},
    "store": {"engine", "schema", "queue", "issues", "clocks"},
    "services": {"clocks", "issues", "queue_worker", "texts", "work_kinds"},
    "api": {"http"},
    "cli": {"console", "server", "agent", "boot", "net", "main", "completion", "issues"},
}
LAYERS_WITHOUT_CYCLES = [*EXTRA_ROOMS, "agent"]


def modules(source: Path = SOURCE) -> Iterator[tuple[str, Path]]:
    """Every module of the product with the package it belongs to."""
    for path in sorted(source.rglob("*.py")):
        package = path.relative_to(source).parts[0].removesuffix(".py")
        if package != "__init__":
            yield package, path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the full name of everything that a module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def all_imports(source: Path = SOURCE) -> list[tuple[str, str, str]]:
    """The package, the file and line, and the imported name of every import."""
    return [
        (package, f"{path.relative_to(source)}:{line}", name)
        for package, path in modules(source)
        for line, name in imports(path)
    ]


def imports_against_the_order(source: Path) -> list[str]:
    violations = []
    for package, place, name in all_imports(source):
        parts = name.split(".")
        imported = parts[1] if parts[0] == "precast" and len(parts) > 1 else ""
        if imported in PACKAGE_ORDER and PACKAGE_ORDER.index(imported) > PACKAGE_ORDER.index(package):
            violations.append(f"{place} imports {name}")
    return violations


def crowded_folders(source: Path) -> list[str]:
    """Folders with more than `MAX_FILES` modules; `__init__.py` does not count."""
    counts: dict[str, int] = {}
    for path in source.rglob("*.py"):
        if path.name != "__init__.py":
            folder = path.parent.relative_to(source).as_posix()
            counts[folder] = counts.get(folder, 0) + 1
    return [
        f"{folder} has {count} modules, at most {MAX_FILES} are allowed"
        for folder, count in sorted(counts.items())
        if count > MAX_FILES and folder not in ONE_FILE_PER_KIND
    ]


def room_of(layer: Path, path: Path) -> str:
    return path.relative_to(layer).parts[0].removesuffix(".py")


def unknown_rooms(source: Path) -> list[str]:
    """Modules in a layer that belong neither to a feature nor to an extra room of that layer."""
    return [
        f"{path.relative_to(source)} is in the room {room}, which is no feature and no extra room of {layer}"
        for layer, extra in EXTRA_ROOMS.items()
        for path in sorted((source / layer).rglob("*.py"))
        if (room := room_of(source / layer, path)) not in FEATURES | extra | {"__init__"}
    ]


def cycles_between_rooms(source: Path, layer: str) -> list[str]:
    """Imports within a layer that are part of a cycle between its rooms."""
    edges: dict[str, dict[str, list[str]]] = {}
    for path in sorted((source / layer).rglob("*.py")):
        room = room_of(source / layer, path)
        for line, name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["precast", layer] and len(parts) > 2 and parts[2] != room:
                place = f"{path.relative_to(source)}:{line} imports {name}"
                edges.setdefault(room, {}).setdefault(parts[2], []).append(place)
    return [
        place
        for room, imported in sorted(edges.items())
        for other, places in sorted(imported.items())
        if room in reachable_rooms(edges, other)
        for place in places
    ]


def reachable_rooms(edges: dict[str, dict[str, list[str]]], start: str) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        for room in edges.get(waiting.pop(), {}):
            if room not in reached:
                reached.add(room)
                waiting.append(room)
    return reached


def test_every_package_is_in_the_order() -> None:
    assert {package for package, _ in modules()} <= set(PACKAGE_ORDER)


def test_packages_import_only_packages_before_them() -> None:
    assert imports_against_the_order(SOURCE) == []


def test_folders_have_at_most_twenty_modules() -> None:
    assert crowded_folders(SOURCE) == []
    assert [folder for folder in ONE_FILE_PER_KIND if not (SOURCE / folder).is_dir()] == []


def test_rooms_have_the_same_names_in_every_layer() -> None:
    assert unknown_rooms(SOURCE) == []


@pytest.mark.parametrize("layer", LAYERS_WITHOUT_CYCLES)
def test_rooms_of_a_layer_import_each_other_without_cycles(layer: str) -> None:
    assert cycles_between_rooms(SOURCE, layer) == []


def test_pure_packages_import_nothing_impure() -> None:
    assert [
        f"{place} imports {name}"
        for package, place, name in all_imports()
        if package in PURE and name.split(".")[0] in IMPURE
    ] == []


def test_code_on_a_node_needs_only_the_node_packages() -> None:
    allowed = NODE_PACKAGES | set(sys.stdlib_module_names) | {"precast"}
    assert [
        f"{place} imports {name}"
        for package, place, name in all_imports()
        if package in ON_THE_NODE and name.split(".")[0] not in allowed
    ] == []


def test_plain_install_requires_the_node_packages_and_no_others() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {line.split(">")[0] for line in project["dependencies"]} == {
        "cryptography",
        "msgspec",
        "pyyaml",
        "websockets",
    }


# The daemon runs as long as its machine and must not keep these in memory.
NOT_IN_THE_DAEMON = [
    "aiohttp", "asyncpg", "cryptography", "uvloop", "yaml", "zoneinfo", "logging.handlers", "multiprocessing", "pickle",
    "precast.agent.identity.enrolment", "precast.agent.facts", "precast.api", "precast.app.root", "precast.lang",
    "precast.services", "precast.store",
]  # fmt: skip


def test_agents_daemon_loads_nothing_large() -> None:
    script = (
        "import sys; import precast.__main__; from precast.cli.main import build_parser; build_parser(['agent']);"
        "import precast.agent.daemon; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "precast.agent.connection.session" in loaded
    assert [
        name
        for name in loaded
        if any(name == excluded or name.startswith(f"{excluded}.") for excluded in NOT_IN_THE_DAEMON)
    ] == []


@pytest.mark.parametrize("forbidden", ["pickle", "marshal", "shelve"])
def test_no_module_loads_data_that_can_run_code(forbidden: str) -> None:
    assert [place for _, place, name in all_imports() if name.split(".")[0] == forbidden] == []


# The modules that declare a route or a message of nodes: each imports the requirement NODE.
FOR_NODES = [
    "precast.api.facts",
    "precast.api.sessions.endpoint",
    "precast.api.nodes.policies",
    "precast.api.sessions.records",
    "precast.api.catalogs.catalogs",
    "precast.api.plans.task_content",
]
COMPILES = {"precast.services.compile.compiler", "precast.services.compile.workers", "precast.lang.compile"}


def test_modules_that_serve_nodes_are_known() -> None:
    declaring = {
        "precast." + str(path.relative_to(SOURCE).with_suffix("")).replace("/", ".")
        for package, path in modules()
        if package in ("api", "web") and "precast.api.http.routes.NODE" in {name for _, name in imports(path)}
    }
    assert declaring == set(FOR_NODES)


def module_file(module: str) -> Path | None:
    path = SOURCE.parent / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def test_nothing_that_serves_nodes_reaches_the_compiler() -> None:
    """S1.6: no request of an agent leads to a compile; the code that serves it does not even import the compiler."""
    reached, waiting = set(FOR_NODES), list(FOR_NODES)
    while waiting:
        path = module_file(waiting.pop())
        assert path is not None, "only modules that exist are reached"
        for _, name in imports(path):
            for module in (name, name.rpartition(".")[0]):
                if module.startswith("precast") and module not in reached and module_file(module) is not None:
                    reached.add(module)
                    waiting.append(module)
    assert "precast.services.facts.service" in reached
    assert [module for module in COMPILES if module_file(module) is None] == []
    assert reached & COMPILES == set()


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_import_of_a_later_package_is_a_violation(tmp_path: Path) -> None:
    tree = write_tree(
        tmp_path,
        {
            "app/root.py": "from precast.cli import issues\n",
            "cli/run.py": "def f():\n    from precast.app import root\n",
        },
    )
    assert imports_against_the_order(tree) == ["app/root.py:1 imports precast.cli.issues"]


def test_folder_with_too_many_modules_is_a_violation(tmp_path: Path) -> None:
    names = [f"{folder}/m{number}.py" for folder in ("store/engine", "boot/modules") for number in range(21)]
    tree = write_tree(tmp_path, dict.fromkeys([*names, *(f"api/http/m{number}.py" for number in range(20))], ""))
    write_tree(tmp_path, {"api/http/__init__.py": ""})
    assert crowded_folders(tree) == ["store/engine has 21 modules, at most 20 are allowed"]


def test_room_that_is_no_feature_is_a_violation(tmp_path: Path) -> None:
    tree = write_tree(
        tmp_path,
        dict.fromkeys(("services/facts/a.py", "services/helpers/b.py", "api/http/c.py", "store/http.py"), ""),
    )
    assert [line.split(" is in ")[0] for line in unknown_rooms(tree)] == ["store/http.py", "services/helpers/b.py"]


def test_cycle_between_rooms_is_a_violation_also_over_a_third_one(tmp_path: Path) -> None:
    tree = write_tree(
        tmp_path,
        {
            "services/facts/a.py": "from precast.services.nodes.b import x\nfrom precast.services.query.d import z\n",
            "services/nodes/b.py": "from precast.services.jobs import c\n",
            "services/jobs/c.py": "def f():\n    import precast.services.facts.a\n",
            "services/query/d.py": "from precast.services.query.e import y\n",
        },
    )
    assert cycles_between_rooms(tree, "services") == [
        "services/facts/a.py:1 imports precast.services.nodes.b.x",
        "services/jobs/c.py:2 imports precast.services.facts.a",
        "services/nodes/b.py:1 imports precast.services.jobs.c",
    ]
