"""concat_file: a file made of fragments. It collects them and generates a file resource that does the rest, as in Puppet."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from precast.resources.concat.data_merge import FORMATS, merge_fragments
from precast.resources.concat.fragment_order import sort_fragments
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.file import File
from precast.resources.files import issues, parameters, sources

_PASSED_ON: Final = (
    "owner", "group", "mode", "replace", "backup", "show_diff", "validate_cmd", "selinux_ignore_defaults", "selrange",
    "selrole", "seltype", "seluser",
)  # fmt: skip


class ConcatFile(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._path = parameters.path_of(resource)
        self._is_absent = parameters.choice(resource, "ensure", ("present", "absent")) == "absent"
        self._is_numeric = parameters.choice(resource, "order", ("numeric", "alpha")) == "numeric"
        self._has_newlines = parameters.flag(resource, "ensure_newline", False)
        self._is_forced = parameters.flag(resource, "force", False)
        self._format = parameters.choice(resource, "format", FORMATS)

    @property
    def check_needs_trust(self) -> str:
        named = [source for fragment in self._fragments() for source in sources.as_texts(fragment.get("source"))]
        is_asked = any(map(sources.is_remote, named))
        return "its check asks a server that the catalog names" if is_asked else ""

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()

    def expand(self, state: State) -> Sequence[Handler]:
        own: dict[str, Any] = {
            name: self.resource.get(name) for name in _PASSED_ON if self.resource.get(name) is not None
        }
        own["path"] = self._path
        secrets = self.resource.secrets
        if self._is_absent:
            own["ensure"] = "absent"
        else:
            for unknown in filter(self._has_part, self.node.unbound("concat_fragment")):
                raise issues.UNKNOWN_FRAGMENT.error(ref=unknown.ref)
            fragments = sort_fragments(self._fragments(), self._is_numeric)
            own |= {"ensure": "file", "content": self._content(fragments)}
            if any(fragment.secrets for fragment in fragments):
                secrets |= {"content"}
        file = self.resource._replace(type="file", title=self._path, parameters=own, secrets=secrets)
        return [File(file, self.node)]

    def is_named(self, ref: str) -> bool:
        return True

    def _fragments(self) -> list[DesiredResource]:
        """The fragments that name this file as their target, or share its tag, of those whose values are known."""
        return list(filter(self._has_part, self.node.resources("concat_fragment")))

    def _has_part(self, fragment: DesiredResource) -> bool:
        tags = set(sources.as_texts(self.resource.metaparameters.get("tag")))
        return fragment.get("target") in (self.resource.title, self._path) or not tags.isdisjoint(
            sources.as_texts(fragment.metaparameters.get("tag"))
        )

    def _content(self, fragments: Sequence[DesiredResource]) -> bytes:
        parts = [(fragment.title, self._text(fragment)) for fragment in fragments]
        if self._format != "plain":
            return merge_fragments(self._path, self._format, parts, self._is_forced)
        if self._has_newlines:
            return b"".join(text if text.endswith(b"\n") else text + b"\n" for _, text in parts)
        return b"".join(text for _, text in parts)

    def _text(self, fragment: DesiredResource) -> bytes:
        content = fragment.get("content")
        if isinstance(content, bytes):
            return content
        if content is not None:
            return str(content).encode()
        source = sources.find(self.node, sources.as_texts(fragment.get("source")), is_followed=True)
        with source.open() as file:
            return file.read()
