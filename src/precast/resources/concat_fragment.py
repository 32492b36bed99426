"""concat_fragment: a part of a file. It changes nothing by itself; its concat_file collects it."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import issues as file_issues
from precast.resources.files import sources


class ConcatFragment(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        target = resource.get("target")
        if not isinstance(target, str) or not target:
            raise issues.MISSING_VALUE.error(type="concat_fragment", name="target", reason="it is part of something")
        if (resource.get("content") is None) == (resource.get("source") is None):
            raise issues.MISSING_VALUE.error(
                type="concat_fragment", name="content or source", reason="one of the two says what it holds"
            )
        for source in sources.as_texts(resource.get("source")):
            sources.check(source)
        # As in Puppet, a fragment without a concat_file leads to a warning, not to a failure.
        tags = {
            tag for file in node.resources("concat_file") for tag in sources.as_texts(file.metaparameters.get("tag"))
        }
        titles = {name for file in node.resources("concat_file") for name in (file.title, file.get("path"))}
        if target not in titles and tags.isdisjoint(sources.as_texts(resource.metaparameters.get("tag"))):
            error = file_issues.NO_TARGET.error(target=target)
            self.log("warning", f"{error.message}; {error.hint}")

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()
