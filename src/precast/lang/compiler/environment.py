"""The settings that an environment's own `environment.conf` gives: where its modules stand."""

import msgspec

from precast.lang.inputs import Inputs
from precast.lang.settings import Settings


def with_environment(inputs: Inputs, settings: Settings) -> Settings:
    """The settings with the environment's module path, if it names one; `$basemodulepath` is what the settings have."""
    found = inputs.text("environment.conf")
    if found is None:
        return settings
    given = _values(found[1]).get("modulepath")
    if not given:
        return settings
    paths: list[str] = []
    for part in given.split(":"):
        name = part.strip().removeprefix("./").rstrip("/")
        if name == "$basemodulepath":
            paths += [path for path in settings.module_path if path not in paths]
        elif name:
            paths.append(name)
    return msgspec.structs.replace(settings, module_path=tuple(paths))


def _values(text: str) -> dict[str, str]:
    """`name = value` line by line; # starts a comment."""
    pairs = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, sign, value in pairs if sign}
