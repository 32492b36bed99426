"""Finds the files of a plan: those of the request, or those of an environment's current version.

The plan `web` of an environment is the file `plans/web.yaml`, or all YAML files below the directory `plans/web`, in the order of their
paths.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from precast.plans.values.works import TaskFile
from precast.services.code.environments import is_environment_name
from precast.services.code.file_trees import FileTree
from precast.services.code.issues import NO_ENVIRONMENT
from precast.services.plans import issues
from precast.services.plans.preparing.messages import SourceText
from precast.store.code.environments import Environments
from precast.wire.plans.bodies import MAX_FILE_CHARS, MAX_FILES, PlanSource

FOLDER = "plans/"
_SUFFIXES = (".yaml", ".yml")
# Of all plans of an environment: they may include each other.
MAX_TOTAL_BYTES = 16 * 1024 * 1024

ReadContent = Callable[[str], Awaitable[bytes]]


class PlanFiles(NamedTuple):
    """The files of a plan, those of the plans that it may include, and the task files of the environment's modules."""

    texts: list[SourceText]
    others: dict[str, list[SourceText]]
    tasks: Mapping[str, TaskFile]


class PlanSources:
    """Reads plans; holds no state between calls."""

    def __init__(self, environments: Environments, read: ReadContent) -> None:
        self._environments, self._read = environments, read

    async def find(self, source: PlanSource, environment: str) -> PlanFiles:
        """Raises NotFoundError PLAN-102 if the environment has no such plan, InputError PLAN-103 for plans that are too large."""
        current = await self._environments.find_current(environment)
        tree = FileTree({}) if current is None else FileTree.decode(await self._read(current.version))
        others = await self._read_plans(tree)
        texts = [SourceText(file.path, file.text, file.layer) for file in source.files]
        if not texts:
            if source.name not in others:
                known = ", ".join(sorted(others)[:10]) or "none"
                raise issues.NO_SUCH_PLAN.error(plan=source.name, environment=environment, known=known)
            texts = others[source.name]
        return PlanFiles(texts, others, find_tasks(tree))

    async def list_plans(self, environment: str) -> list[str]:
        """The names of an environment's plans. Raises NotFoundError ENV-005."""
        current = await self._environments.find_current(environment) if is_environment_name(environment) else None
        if current is None:
            raise NO_ENVIRONMENT.error(name=environment[:100])
        return sorted(find_plan_paths(FileTree.decode(await self._read(current.version))))

    async def _read_plans(self, tree: FileTree) -> dict[str, list[SourceText]]:
        paths = find_plan_paths(tree)
        files = [path for members in paths.values() for path in members]
        if len(files) > MAX_FILES or sum(tree.files[path].size for path in files) > MAX_TOTAL_BYTES:
            raise issues.TOO_LARGE.error(files=MAX_FILES, mib=MAX_TOTAL_BYTES // 2**20)
        return {name: [await self._read_text(tree, path) for path in members] for name, members in paths.items()}

    async def _read_text(self, tree: FileTree, path: str) -> SourceText:
        data = await self._read(tree.files[path].digest)
        return SourceText(path, data.decode(errors="replace")[:MAX_FILE_CHARS])


def find_plan_paths(tree: FileTree) -> dict[str, list[str]]:
    """The files of each plan, by its name."""
    plans: dict[str, list[str]] = {}
    for path in sorted(tree.files):
        if path.startswith(FOLDER) and path.endswith(_SUFFIXES):
            name = path.removeprefix(FOLDER).partition("/")[0]
            plans.setdefault(name.removesuffix(".yaml").removesuffix(".yml"), []).append(path)
    return plans


def find_tasks(tree: FileTree) -> dict[str, TaskFile]:
    """The tasks of the environment's modules: `tasks/NAME` or `tasks/NAME.EXTENSION` of a module, `init` being the module's own."""
    tasks: dict[str, TaskFile] = {}
    for path in sorted(tree.files):
        parts: Sequence[str] = path.split("/")
        if len(parts) == 4 and parts[0] in ("modules", "site", "site-modules") and parts[2] == "tasks":
            name, _, extension = parts[3].partition(".")
            if extension not in ("json", "md"):
                title = parts[1] if name == "init" else f"{parts[1]}::{name}"
                tasks.setdefault(title, TaskFile(tree.files[path].digest))
    return tasks
