"""augeas: commands that change configuration files as trees, through libaugeas.

The resource is in sync if its commands, done in the tree, change no file's text. Files are only read for that, so a check and a no-op run
write nothing. To apply it, everything is read and done once more, and each changed text replaces its file atomically. A file that another
user than root could exchange meanwhile is refused: the library reads by path, and could be led elsewhere.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from precast.base.errors import PrecastError
from precast.resources import issues, properties
from precast.resources import issues_modules as own_issues
from precast.resources.augeas import conditions, text_edits
from precast.resources.augeas.commands import RESTRUCTURING, Command, execute, parse_commands
from precast.resources.augeas.library import NO_AUTOLOAD, NO_LOAD, TYPE_CHECK, Tree
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import diffs, safe_paths, safe_reads, small_files
from precast.resources.files import issues as file_issues
from precast.resources.files.safe_reads import FileContent
from precast.resources.text_files import as_owner

_NEEDED: Final = "need_to_run"
_NEW_MODE: Final = 0o644
_SIMPLE_CONTEXT: Final = re.compile(r"""/files/[^'"\[\]]+""")


class Edit(NamedTuple):
    """A file whose text changes; without a text it is removed."""

    path: str
    former: FileContent | None
    text: bytes | None


class Augeas(Handler):
    locks: ClassVar[tuple[str, ...]] = ("augeas",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._lens, self._incl = resource.get("lens"), resource.get("incl")
        if (self._lens is None) != (self._incl is None):
            raise issues.MISSING_VALUE.error(name="lens and incl", reason="they are given together", type="augeas")
        context = str(resource.get("context", ""))
        self._context = context or ("" if self._incl is None else f"/files{self._incl}")
        self._root = str(resource.get("root", "/")).rstrip("/")
        self._onlyif = str(resource.get("onlyif", ""))
        self._is_forced = resource.get("force", False) is not False
        self._flags = TYPE_CHECK if properties.read_boolean(resource, "type_check") else 0
        self._shows_diff = properties.read_boolean(resource, "show_diff", is_default=True)
        self._commands = self._parse(resource.get("changes"))
        self._edits: Sequence[Edit] = ()

    def _parse(self, changes: Any) -> list[Command]:
        if changes is None:
            raise issues.MISSING_VALUE.error(name="changes", reason="they are what is to be done", type="augeas")
        try:
            return parse_commands(changes, self._context)
        except PrecastError:
            if self.resource.secrets:
                raise properties.invalid_value(self.resource, "changes", "", "commands of Augeas") from None
            raise

    @property
    def check_needs_trust(self) -> str:
        return "its check searches files by expressions of the catalog"

    @property
    def is_slow_to_read(self) -> bool:
        return True  # the library parses all of its lenses

    def read(self) -> State:
        self._edits = ()
        with self._open() as tree:
            if self._onlyif and not conditions.holds(tree, self._onlyif, self._context):
                return {"returns": 0}
            if self._is_forced:
                return {"returns": _NEEDED}
            self._edits = self._find_edits(tree)
        return {"returns": _NEEDED if self._edits else 0}

    def compare(self, state: State) -> Sequence[Change]:
        if state["returns"] != _NEEDED:
            return ()
        is_secret = bool(self.hidden_properties)
        diff = None if is_secret or not self._shows_diff else "".join(map(_diff, self._edits)) or None
        return (Change("returns", _NEEDED, 0, "executed successfully", diff),)

    def state_after(self) -> State:
        return {"returns": 0}

    def apply(self, change: Change) -> None:
        with self._open() as tree:
            edits = self._find_edits(tree)
        for edit in edits:
            self._write(edit)

    def _write(self, edit: Edit) -> None:
        if edit.text is not None:
            small_files.replace_content(self.node, edit.path, edit.text, edit.former, _NEW_MODE, as_owner((0, 0)))
            return
        small_files.remove_file(self.node, edit.path)

    def _open(self) -> Tree:
        """Open the tree with the files that the resource may be about; the caller closes it."""
        flags = self._flags | (NO_LOAD if self._incl is None else NO_AUTOLOAD)
        paths = ":".join(properties.as_texts(self.resource.get("load_path", "")))
        tree = Tree(self.node.path(self._root) or "/", paths, flags)
        try:
            concerned = self._limit(tree)
            tree.load()
            self._tell_load_errors(tree, concerned)
        except BaseException:
            tree.close()
            raise
        return tree

    def _limit(self, tree: Tree) -> str:
        """Let the tree load no more files than the resource may be about; returns where their errors are, empty if that is unknown."""
        if self._incl is not None:
            tree.set("/augeas/load/Xfm/lens", str(self._lens))
            tree.set("/augeas/load/Xfm/incl", str(self._incl))
            return "/augeas//error"
        if _SIMPLE_CONTEXT.fullmatch(self._context) and tree.match("/augeas/version/pathx/functions/glob"):
            path = self._context.removeprefix("/files").rstrip("/") + "/"
            others = f"/augeas/load/*['{path}' !~ glob(incl) + regexp('/.*')]"
            if len(tree.match(others)) < len(tree.match("/augeas/load/*")):
                tree.remove(others)
                return f"/augeas/files{path}error"
        return ""

    def _tell_load_errors(self, tree: Tree, concerned: str) -> None:
        errors = tree.match("/augeas//error")
        is_concerned = bool(errors and concerned and tree.match(concerned))
        for node in errors:
            text = f"Loading failed: {node} = {tree.get(node)}: {tree.get(f'{node}/message') or ''}"
            self.log("warning" if is_concerned else "debug", text.rstrip(": "))

    def _find_edits(self, tree: Tree) -> list[Edit]:
        """Do the changes in the tree and return the files whose text is another one now. Raises InputError RESOURCE-231 to RESOURCE-233."""
        files = text_edits.parsed_files(tree)
        before = text_edits.survey(tree, files)
        self._execute(tree)
        after = text_edits.survey(tree, files)
        if after == before and not self._is_restructuring:
            return []
        new = text_edits.new_files(tree, before, after)
        edits = []
        for place in (*text_edits.changed_places(before, after, self._is_restructuring), *new):
            file = files.get(place) or new[place]
            former = self._read(file.path)
            is_removed = place in files and place not in after.parts
            text = None if is_removed else tree.text(file.lens, place, b"" if former is None else former.data)
            if former is None or former.data != text:
                edits.append(Edit(self._root + file.path, former, text))
        for edit in edits:
            self._check_place(edit)
        return edits

    @property
    def _is_restructuring(self) -> bool:
        return any(command[0] in RESTRUCTURING for command in self._commands)

    def _execute(self, tree: Tree) -> None:
        for command in self._commands:
            try:
                execute(tree, command)
            except PrecastError:
                if self.resource.secrets:
                    raise own_issues.AUGEAS_FAILED.error(what=command[0], reason="[redacted]") from None
                raise

    def _read(self, path: str) -> FileContent | None:
        return small_files.read_content(self.node, self._root + path)

    def _check_place(self, edit: Edit) -> None:
        """Raises DeniedError RESOURCE-233 for a file that is not certainly the one which the library has read.

        Raises NotFoundError RESOURCE-111 for a new file without a directory.
        """
        path, parents = edit.path, safe_reads.node_parents(self.node)
        parent = path.rpartition("/")[0]
        if edit.former is None and not safe_reads.is_directory(parents, parent):
            raise file_issues.NO_PARENT.error(path=path, parent=parent)
        reason = safe_reads.find_distrust(parents, path)
        if reason is None and self.node.root:
            here = safe_paths.resolve(self.node.root, path)
            reason = None if here == os.path.realpath(self.node.path(path)) else f"a link leads out of {self.node.root}"
        if reason is not None:
            raise own_issues.EXCHANGEABLE_FILE.error(path=path, reason=reason)


def _diff(edit: Edit) -> str:
    before = b"" if edit.former is None else edit.former.data
    return diffs.diff_texts(edit.path, before.decode(errors="replace"), (edit.text or b"").decode(errors="replace"))
