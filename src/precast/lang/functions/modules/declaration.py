"""Declares functions that a module brings as Ruby code.

Such a function exists only in a compile whose module path has a file that defines its name; the implementation that runs is ours.
Puppet has two kinds of these files: those below `lib/puppet/functions` get values as they are; those below
`lib/puppet/parser/functions`, the legacy kind, get undef as an empty string and rich values as texts.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from precast.base.errors import PrecastError
from precast.base.spans import Span
from precast.lang.functions.host import Block, Host
from precast.lang.functions.registry import BodyT, Function, Unknowns
from precast.lang.issues import functions as issues
from precast.lang.ruby.legacy_values import to_legacy


class ModuleFunction(Function):
    """A function that exists only if a module brings it; `module` is the one that usually does."""

    _known: ClassVar[dict[str, Function]] = {}

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        module: str = "stdlib",
        is_legacy: bool = False,
        unknowns: Unknowns = Unknowns.CONCRETE,
        aliases: Sequence[str] = (),
    ) -> None:
        super().__init__(name, documentation, unknowns=unknowns, aliases=aliases)
        self.module = module
        self.is_legacy = is_legacy

    def _call_known(self, host: Host, scope: Any, args: Sequence[Any], block: Block | None, span: Span | None) -> Any:
        given = [to_legacy(arg) for arg in args] if self.is_legacy else args
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
    """Declare a function of the modern kind with one signature."""
    function = ModuleFunction(name, documentation, module=module, unknowns=unknowns, aliases=aliases)
    return function.dispatch(signature, pure=pure)


def declare_legacy(
    name: str,
    signature: str,
    documentation: str,
    *,
    module: str = "stdlib",
    pure: bool = True,
    unknowns: Unknowns = Unknowns.CONCRETE,
) -> Callable[[BodyT], BodyT]:
    """Declare a function of the legacy kind with one signature."""
    function = ModuleFunction(name, documentation, module=module, is_legacy=True, unknowns=unknowns)
    return function.dispatch(signature, pure=pure)


def argument_error(name: str, reason: str) -> PrecastError:
    """Return the error LANG-470 of a function that rejects its arguments."""
    return issues.REFUSED.error(name=name, reason=reason)
