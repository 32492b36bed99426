"""The function `deprecation`, and the warnings of functions that modules call deprecated."""

from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import ModuleFunction, argument_error, declare


def deprecate(call: Call, key: str, message: str) -> None:
    """Warn once per compile. The setting `strict` turns the warning into an error, or off."""
    if call.host.settings.strict == "error":
        raise argument_error("deprecation", f"{key}. {message}")
    if call.host.settings.strict == "warning":
        call.host.warn_once(f"deprecation-{key}", message)


@declare(
    "deprecation",
    "String key, String message",
    "Warns once per key and compile that something is deprecated; an error if the setting strict is error.",
    pure=False,
)
def _deprecation(call: Call, key: str, message: str) -> None:
    deprecate(call, key, message)


def declare_renamed(old: str, new: str, word: str = "method") -> None:
    """Declare an old name of a function, which warns and calls the new one; `word` is the noun in the warning."""

    def body(call: Call, *values: Any) -> Any:
        deprecate(call, old, f"This {word} is deprecated, please use {new} instead.")
        function = ModuleFunction.named(new)
        assert function is not None
        return function.call(call.host, call.scope, values, call.block, call.span)

    declare(old, "Any *values", f"The old name of {new}.", module=new.partition("::")[0], pure=False)(body)
