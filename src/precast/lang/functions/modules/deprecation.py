"""deprecation, and how functions that modules call deprecated say so."""

from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, declare, wrong


def deprecate(call: Call, key: str, message: str) -> None:
    """Warns once per compile; an error where the settings are strict, nothing where they are off."""
    if call.host.settings.strict == "error":
        raise wrong("deprecation", f"{key}. {message}")
    if call.host.settings.strict == "warning":
        call.host.warn_once(f"deprecation-{key}", message)


@declare(
    "deprecation",
    "String key, String message",
    "Warns that something is deprecated, once per key and compile; an error where the settings are strict.",
    pure=False,
)
def _deprecation(call: Call, key: str, message: str) -> None:
    deprecate(call, key, message)


def declare_renamed(old: str, new: str, word: str = "method") -> None:
    """Declares a name that a module keeps for those who know no better; `word` is what its warning calls it."""

    def body(call: Call, *values: Any) -> Any:
        deprecate(call, old, f"This {word} is deprecated, please use {new} instead.")
        function = ModuleFunction.named(new)
        assert function is not None
        return function.call(call.host, call.scope, values, call.block, call.span)

    declare(old, "Any *values", f"The older name of {new}.", module=new.partition("::")[0], pure=False)(body)
