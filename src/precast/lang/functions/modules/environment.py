"""What lies in the environment and on the node: facts by their paths, modules, files with data, variables by name.

Files are read where they are part of the environment or its modules. What lies outside, on a web server or in another program is
refused: the catalog would not follow from its inputs.
"""

import fnmatch
import re
from collections.abc import Iterator
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions import issues
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class
from precast.lang.values.core import Hash


@declare_older("get_module_path", "Any name", "Where a module stands.", pure=False)
def _get_module_path(call: Call, name: Any) -> str:
    return call.host.shown_path(_module(call, name))


def _module(call: Call, name: Any) -> str:
    found = call.host.module_directory(call.scope, name) if isinstance(name, str) else None
    if found is None:
        raise wrong("get_module_path", f"Could not find module {ruby_text(name)}")
    return found


@declare_older(
    "load_module_metadata",
    "Any module, Any may_lack?",
    "The metadata.json of a module; an empty hash where it has none and the second argument allows that.",
    pure=False,
)
def _load_module_metadata(call: Call, module: Any, may_lack: Any = False) -> Any:
    path = f"{_module(call, module)}/metadata.json"
    found = call.host.inputs.text(path)
    if found is not None:
        return read_json(Source(path, found[1]))
    if may_lack is False:
        raise wrong("load_module_metadata", f"No metadata.json file for module {module}")
    return Hash()


def _loaded(call: Call, name: str, path: Any, default: Any) -> Any:
    """What a file of the environment holds; the default where it is not there, is empty, or cannot be read."""
    if not isinstance(path, str):
        raise wrong(name, f"takes the path of a file, got {ruby_class(path)}")
    if re.match("https?://", path):
        raise issues.IMPURE.error(name=f"{name} of a URL")
    place = call.host.environment_path(path)
    if place is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=path)
    found = call.host.inputs.text(place)
    if found is None:
        call.host.log("warning", f"Can't load '{path}' File does not exist!")
        return default
    try:
        value = (read_yaml if name == "loadyaml" else read_json)(Source(place, found[1]))
    except PrecastError:
        if default is None or default is False:
            raise
        return default
    return default if value is None or value is False else value


@declare_older(
    "loadyaml", "Any path, Any default?, Any *rest", "The data of a YAML file of the environment.", pure=False
)
def _loadyaml(call: Call, path: Any, default: Any = None, *rest: Any) -> Any:
    return _loaded(call, "loadyaml", path, default)


@declare_older(
    "loadjson", "Any path, Any default?, Any *rest", "The data of a JSON file of the environment.", pure=False
)
def _loadjson(call: Call, path: Any, default: Any = None, *rest: Any) -> Any:
    return _loaded(call, "loadjson", path, default)


@declare_older(
    "glob", "Variant[Array, String] patterns", "The paths of the environment that match patterns.", pure=False
)
def _glob(call: Call, patterns: Any) -> tuple[str, ...]:
    found = [path for each in flatten(patterns) for path in _matching(call, ruby_text(each))]
    return tuple(dict.fromkeys(call.host.shown_path(path) for path in found))


def _matching(call: Call, pattern: str) -> Iterator[str]:
    place = call.host.environment_path(pattern)
    if place is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=pattern)
    parts = place.split("/")
    fixed = next((at for at, part in enumerate(parts) if set(part) & set("*?[{")), len(parts) - 1)
    yield from _below(call, "/".join(parts[:fixed]), parts[fixed:])


def _below(call: Call, directory: str, parts: list[str]) -> Iterator[str]:
    for name in call.host.inputs.listing(directory):
        plain = name.rstrip("/")
        if fnmatch.fnmatchcase(plain, parts[0]) and (not plain.startswith(".") or parts[0].startswith(".")):
            path = f"{directory}/{plain}"
            if len(parts) == 1:
                yield path
            elif name.endswith("/"):
                yield from _below(call, path, parts[1:])


@declare_older("time", "Any zone?", "The seconds since 1970 of the moment the version was deployed.", pure=False)
def _time(call: Call, zone: Any = None) -> int:
    return int(call.host.now().ns // 1_000_000_000)


@declare_older("date", "Any *rest", "The same as time(), as a text.", module="dns", pure=False)
def _date(call: Call, *rest: Any) -> str:
    return str(_time(call))


@declare_older(
    "template_body",
    "Any *names",
    "The text of templates as it stands, one after the other.",
    module="datacat",
    pure=False,
)
def _template_body(call: Call, *names: Any) -> str:
    return "".join(_template(call, ruby_text(name)) for name in names)


def _template(call: Call, name: str) -> str:
    module, _, rest = name.partition("/")
    directory = call.host.module_directory(call.scope, module) if rest else None
    found = call.host.inputs.text(f"{directory}/templates/{rest}") if directory is not None else None
    if found is None:
        raise issues.NO_TEMPLATE.error(name=name)
    return found[1]


@declare(
    "convert_cert_to_string",
    "String path",
    "The text of a certificate of the environment on one line, without its marks.",
    module="neutron",
    pure=False,
)
def _convert_cert_to_string(call: Call, path: str) -> str:
    place = call.host.environment_path(path)
    if place is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=path)
    found = call.host.inputs.text(place)
    if found is None:
        raise wrong("convert_cert_to_string", f"Certificate file not found: {path}")
    return "".join(line.strip() for line in found[1].splitlines() if "-----" not in line)
