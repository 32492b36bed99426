"""concat_file: a file made of fragments. It gathers them and leaves the rest to a file resource that follows from it, as Puppet does."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from precast.resources.concat.merging import FORMATS, merged
from precast.resources.concat.ordering import in_order
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.file import File
from precast.resources.files import parameters, sources

_PASSED_ON: Final = (
    "owner", "group", "mode", "replace", "backup", "show_diff", "validate_cmd", "selinux_ignore_defaults", "selrange",
    "selrole", "seltype", "seluser",
)  # fmt: skip


class ConcatFile(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self._path = parameters.path_of(wanted)
        self._is_absent = parameters.choice(wanted, "ensure", ("present", "absent")) == "absent"
        self._is_numeric = parameters.choice(wanted, "order", ("numeric", "alpha")) == "numeric"
        self._has_newlines = parameters.flag(wanted, "ensure_newline", False)
        self._is_forced = parameters.flag(wanted, "force", False)
        self._format = parameters.choice(wanted, "format", FORMATS)

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()

    def expand(self, state: State) -> Sequence[Handler]:
        own: dict[str, Any] = {name: self.wanted.get(name) for name in _PASSED_ON if self.wanted.get(name) is not None}
        own["path"] = self._path
        secrets: frozenset[str] = frozenset()
        if self._is_absent:
            own["ensure"] = "absent"
        else:
            fragments = in_order(self._fragments(), self._is_numeric)
            own |= {"ensure": "file", "content": self._content(fragments)}
            if any("content" in each.secrets for each in fragments):
                secrets = frozenset(["content"])
        file = self.wanted._replace(type="file", title=self._path, parameters=own, secrets=secrets)
        return [File(file, self.node)]

    def _fragments(self) -> list[Wanted]:
        """Those that name this file as their target, or share its tag."""
        names = (self.wanted.title, self._path)
        tags = set(sources.listed(self.wanted.metaparameters.get("tag")))
        return [
            each
            for each in self.node.resources("concat_fragment")
            if each.get("target") in names or not tags.isdisjoint(sources.listed(each.metaparameters.get("tag")))
        ]

    def _content(self, fragments: Sequence[Wanted]) -> bytes:
        parts = [(each.title, self._text(each)) for each in fragments]
        if self._format != "plain":
            return merged(self._path, self._format, parts, self._is_forced)
        if self._has_newlines:
            return b"".join(text if text.endswith(b"\n") else text + b"\n" for _, text in parts)
        return b"".join(text for _, text in parts)

    def _text(self, fragment: Wanted) -> bytes:
        content = fragment.get("content")
        if isinstance(content, bytes):
            return content
        if content is not None:
            return str(content).encode()
        source = sources.find(self.node, sources.listed(fragment.get("source")), is_followed=True)
        with source.open() as file:
            return file.read()
