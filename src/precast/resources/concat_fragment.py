"""concat_fragment: a part of a file. It does nothing by itself; its concat_file gathers it."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.files import issues as file_issues
from precast.resources.files import sources


class ConcatFragment(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        target = wanted.get("target")
        if not isinstance(target, str) or not target:
            raise issues.MISSING_VALUE.error(type="concat_fragment", name="target", reason="it is part of something")
        if (wanted.get("content") is None) == (wanted.get("source") is None):
            raise issues.MISSING_VALUE.error(
                type="concat_fragment", name="content or source", reason="one of the two says what it holds"
            )
        for source in sources.listed(wanted.get("source")):
            sources.check(source)
        # As Puppet has it: a fragment of nothing is worth a word, not a failure.
        tags = {tag for each in node.resources("concat_file") for tag in sources.listed(each.metaparameters.get("tag"))}
        titles = {name for each in node.resources("concat_file") for name in (each.title, each.get("path"))}
        if target not in titles and tags.isdisjoint(sources.listed(wanted.metaparameters.get("tag"))):
            text = file_issues.NO_TARGET.error(target=target)
            self.say("warning", f"{text.message}; {text.hint}")

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()
