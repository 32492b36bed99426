"""The types of tasks with their parameters: what each needs, and what it may have besides.

Parameters stay as they are written, because expressions in them are evaluated for each node; only their shape is checked when a plan is
loaded.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from precast.plans import issues
from precast.plans.loading.fields import Field, read_expression
from precast.plans.loading.shapes import Shape, choice, computed, mapping, permissions, text, texts_by_name, words
from precast.plans.model import TaskType
from precast.wire.jobs.programs import MAX_COMMAND_CHARS, MAX_FILES, MAX_UPLOAD_CHARS


class Parameter(NamedTuple):
    """A parameter of a type of tasks."""

    shape: Shape
    description: str
    is_needed: bool = False
    may_be_input: bool = False  # an input of the same name may give it instead


class TaskDeclaration(NamedTuple):
    """A type of tasks as people write it, and what it is for Precast. Of `needs_one_of` one parameter must be given."""

    type: TaskType
    description: str
    parameters: Mapping[str, Parameter] = {}
    needs_one_of: tuple[str, ...] = ()
    # Precast's own types have no other parameters. Ignoring one would do more than is meant, such as the whole catalog for a part of it.
    refuses_others: bool = False


def _read_data(field: Field) -> Any:
    if isinstance(field.node.value, str):
        return _UPLOAD.read(field)
    return field.node.as_data()


def _read_files(field: Field) -> list[Any] | None:
    items = field.node.items or ()
    if not 1 <= len(items) <= MAX_FILES:
        field.refuse(f"a list of 1 to {MAX_FILES} files", "write `- {src: FILE OF THE MASTER, dst: FILE OF THE NODE}`")
        return None
    return [_read_file(item) for item in field.items()]


def _read_file(item: Field) -> dict[str, Any] | None:
    if not item.require_mapping(
        "a mapping with src and dst", "write `{src: FILE OF THE MASTER, dst: FILE OF THE NODE}`"
    ):
        return None
    item.warn_unknown(_ENDS)
    found: dict[str, Any] = {}
    for key in _ENDS:
        if (field := item.get(key)) is None:
            item.error(issues.MISSING_FIELD, what=item.label, field=key, advice="name both files")
        else:
            found[key] = _PATH.shape.read(field)
    return found


def _read_values(field: Field) -> dict[str, Any] | None:
    """Values that are fixed when the plan is loaded."""
    found: dict[str, Any] | None = mapping().read(field)
    for _, item in field.entries():
        if read_expression(item) is not None:
            item.refuse("a value", "an expression needs a node, and the plan has none when it is included")
    return found


def _path(description: str, *, is_needed: bool = False) -> Parameter:
    return Parameter(computed(text("a path")), description, is_needed)


_UPLOAD: Final = text("the text of the file", MAX_UPLOAD_CHARS, may_be_empty=True)
_DATA: Final = Shape(_read_data, {})
_VALUES: Final = Shape(_read_values, mapping().schema)
_ENDS: Final = ("src", "dst")
_PATH: Final = _path("A path.")
_PERMISSIONS: Final = {
    "permissions": Parameter(computed(permissions()), "The permissions of the file, in octal digits."),
    "dir_permissions": Parameter(computed(permissions()), "The permissions of directories that are created."),
}
_CWD: Final = _path("The working directory.")
_MODE: Final = Parameter(choice("noop", "enforce"), "noop: only look what would change.")
_FILE_SCHEMA: Final = {
    "type": "object",
    "properties": {"src": {"type": ["string", "object"]}, "dst": {"type": ["string", "object"]}},
    "required": ["src", "dst"],
}
_FILES: Final = Shape(_read_files, {"type": "array", "items": _FILE_SCHEMA, "minItems": 1, "maxItems": MAX_FILES})
_SHELL: Final = {
    "cmd": Parameter(computed(text("a command", MAX_COMMAND_CHARS)), "The command, for /bin/sh.", is_needed=True),
    "cwd": _CWD,
    "environment": Parameter(computed(texts_by_name()), "Environment variables."),
}
_MANIFEST: Final = {
    "manifest": _path("The entry point: a manifest of the environment."),
    "puppet_manifest": _path("The entry point, as Fuel writes it."),
    "puppet_modules": Parameter(
        computed(text("a path", may_be_empty=True)), "Fuel's module path; the environment's is used."
    ),
    "cwd": _CWD,
    "mode": _MODE,
}
_MANIFEST_NEEDS: Final = ("manifest", "puppet_manifest")
_NOT_HERE: Final = "Has no counterpart: it is skipped."

# In the order in which messages name them.
TASK_TYPES: Final[Mapping[str, TaskDeclaration]] = {
    "catalog": TaskDeclaration(
        "catalog",
        "Applies a part of the released catalog of the node; without tags, classes and stages the whole.",
        {
            "tags": Parameter(words(), "Resources with one of these tags."),
            "classes": Parameter(words(), "Resources in one of these classes."),
            "stages": Parameter(words(), "Resources of one of these stages."),
            "mode": _MODE,
        },
        refuses_others=True,
    ),
    "manifest": TaskDeclaration(
        "manifest", "Applies an entry point of the environment.", _MANIFEST, _MANIFEST_NEEDS, refuses_others=True
    ),
    "puppet": TaskDeclaration("manifest", "The same as manifest, as Fuel writes it.", _MANIFEST, _MANIFEST_NEEDS),
    "shell": TaskDeclaration("shell", "Runs a command.", _SHELL),
    "task": TaskDeclaration(
        "task",
        "Runs a task of a module of the environment.",
        {
            "task": Parameter(text("the name of a task of a module"), "The task, as MODULE::TASK.", is_needed=True),
            "parameters": Parameter(computed(mapping()), "The parameters of that task."),
        },
        refuses_others=True,
    ),
    "upload_file": TaskDeclaration(
        "upload_file",
        "Writes a file.",
        {
            "path": _path("The file.", is_needed=True),
            "data": Parameter(
                _DATA,
                "The text, or data that is written as YAML or JSON. It may come from an input `data` instead.",
                is_needed=True,
                may_be_input=True,
            ),
            **_PERMISSIONS,
        },
    ),
    "copy_files": TaskDeclaration(
        "copy_files",
        "Copies files of the master.",
        {
            "files": Parameter(computed(_FILES), "The files: src on the master, dst on the node.", is_needed=True),
            **_PERMISSIONS,
        },
    ),
    "sync": TaskDeclaration(
        "sync",
        "Makes a directory equal to a source of rsync.",
        {"src": _path("The source.", is_needed=True), "dst": _path("The directory.", is_needed=True)},
    ),
    "reboot": TaskDeclaration("reboot", "Reboots the node, and waits until it is back."),
    "stage": TaskDeclaration("stage", "Joins and separates what others do; it is on no node."),
    "group": TaskDeclaration("group", "Gives tasks to nodes, and says how many of them may fail."),
    "skipped": TaskDeclaration("skipped", "Does nothing, and keeps its dependencies."),
    "run_plan": TaskDeclaration(
        "run_plan",
        "Includes another plan.",
        {
            "plan": Parameter(text("the name of a plan"), "The plan.", is_needed=True),
            "with": Parameter(_VALUES, "Values for its parameters."),
        },
        refuses_others=True,
    ),
    "master_shell": TaskDeclaration("shell", "Fuel's: a command on the master.", _SHELL),
    "move_to_bootstrap": TaskDeclaration("skipped", f"Fuel's. {_NOT_HERE}"),
    "erase_node": TaskDeclaration("skipped", f"Fuel's. {_NOT_HERE}"),
}
NO_COUNTERPART: Final = ("move_to_bootstrap", "erase_node")
