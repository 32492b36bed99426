"""How a function is declared that a module brings as Ruby code.

It is there only for a compile whose module path has a file that defines its name; what runs is ours. Puppet has two kinds of such
files: those below `lib/puppet/functions` take values as they are; those below `lib/puppet/parser/functions`, the older kind, get
undef as an empty string and richer values as texts, and their return value counts only where they declare one.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.functions import issues
from precast.lang.functions.host import Block, Host
from precast.lang.functions.legacy import legacy
from precast.lang.functions.registry import Body, BodyT, Function, Unknowns


class ModuleFunction(Function):
    """A function that only a module brings; `module` is the one that is known for it."""

    _known: ClassVar[dict[str, Function]] = {}

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        module: str = "stdlib",
        is_older: bool = False,
        unknowns: Unknowns = Unknowns.CONCRETE,
        aliases: Sequence[str] = (),
    ) -> None:
        super().__init__(name, documentation, unknowns=unknowns, aliases=aliases)
        self.module = module
        self.is_older = is_older

    def _call_known(self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None) -> Any:
        given = [legacy(arg) for arg in args] if self.is_older else args
        return super()._call_known(host, scope, given, block, span)


def declare(
    name: str,
    signature: str,
    documentation: str,
    *,
    module: str = "stdlib",
    pure: bool = True,
    unknowns: Unknowns = Unknowns.CONCRETE,
    aliases: Sequence[str] = (),
) -> Callable[[BodyT], BodyT]:
    """Declares a function of the newer kind that has one signature."""
    function = ModuleFunction(name, documentation, module=module, unknowns=unknowns, aliases=aliases)
    return function.dispatch(signature, pure=pure)


def declare_older(
    name: str,
    signature: str,
    documentation: str,
    *,
    module: str = "stdlib",
    pure: bool = True,
    unknowns: Unknowns = Unknowns.CONCRETE,
) -> Callable[[BodyT], BodyT]:
    """Declares a function of the older kind."""
    function = ModuleFunction(name, documentation, module=module, is_older=True, unknowns=unknowns)
    return function.dispatch(signature, pure=pure)


def wrong(name: str, reason: str) -> PrecastError:
    """The error of a call whose arguments a function does not take."""
    return issues.REFUSED.error(name=name, reason=reason)


def same_body(signatures: Sequence[str], function: ModuleFunction, body: Body, *, pure: bool = True) -> None:
    """Declares several signatures that one body serves."""
    for signature in signatures:
        function.dispatch(signature, pure=pure)(body)
