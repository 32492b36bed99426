"""deprecation, and how functions that modules call deprecated say so."""

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, wrong


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
