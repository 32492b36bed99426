"""Functions that read modules and files of the environment.

Only files of the environment and its modules are read. Files outside of it and URLs are refused: the catalog would depend on more than
its inputs.
"""

import fnmatch
import re
from collections.abc import Iterator
from typing import Any

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.functions.collections import flatten
from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.hiera.data.documents import read_json, read_yaml
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class
from precast.lang.values.base import Hash


@declare_legacy("get_module_path", "Any name", "Returns the directory of a module.", pure=False)
def _get_module_path(call: Call, name: Any) -> str:
    return call.host.shown_path(_module(call, name))


def _module(call: Call, name: Any) -> str:
    directory = call.host.module_directory(call.scope, name) if isinstance(name, str) else None
    if directory is None:
        raise argument_error("get_module_path", f"Could not find module {ruby_text(name)}")
    return directory


@declare_legacy(
    "load_module_metadata",
    "Any module, Any may_lack?",
    "Returns the metadata.json of a module; an empty hash if the file does not exist and the second argument allows that.",
    pure=False,
)
def _load_module_metadata(call: Call, module: Any, may_lack: Any = False) -> Any:
    path = f"{_module(call, module)}/metadata.json"
    file_text = call.host.inputs.text(path)
    if file_text is not None:
        return read_json(Source(path, file_text[1]))
    if may_lack is False:
        raise argument_error("load_module_metadata", f"No metadata.json file for module {module}")
    return Hash()


def _load(call: Call, name: str, path: Any, default: Any) -> Any:
    """Return the data of a file of the environment, or the default if the file is missing, empty or invalid."""
    if not isinstance(path, str):
        raise argument_error(name, f"expects the path of a file, got {ruby_class(path)}")
    if re.match("https?://", path):
        raise issues.IMPURE.error(name=f"{name} of a URL")
    inner_path = call.host.environment_path(path)
    if inner_path is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=path)
    file_text = call.host.inputs.text(inner_path)
    if file_text is None:
        call.host.log("warning", f"Can't load '{path}' File does not exist!")
        return default
    try:
        value = (read_yaml if name == "loadyaml" else read_json)(Source(inner_path, file_text[1]))
    except PrecastError:
        if default is None or default is False:
            raise
        return default
    return default if value is None or value is False else value


@declare_legacy(
    "loadyaml", "Any path, Any default?, Any *rest", "Returns the data of a YAML file of the environment.", pure=False
)
def _loadyaml(call: Call, path: Any, default: Any = None, *rest: Any) -> Any:
    return _load(call, "loadyaml", path, default)


@declare_legacy(
    "loadjson", "Any path, Any default?, Any *rest", "Returns the data of a JSON file of the environment.", pure=False
)
def _loadjson(call: Call, path: Any, default: Any = None, *rest: Any) -> Any:
    return _load(call, "loadjson", path, default)


@declare_legacy(
    "glob", "Variant[Array, String] patterns", "Returns the paths of the environment that match patterns.", pure=False
)
def _glob(call: Call, patterns: Any) -> tuple[str, ...]:
    paths = [path for pattern in flatten(patterns) for path in _find_matching(call, ruby_text(pattern))]
    return tuple(dict.fromkeys(call.host.shown_path(path) for path in paths))


def _find_matching(call: Call, pattern: str) -> Iterator[str]:
    inner_path = call.host.environment_path(pattern)
    if inner_path is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=pattern)
    parts = inner_path.split("/")
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


@declare_legacy(
    "time", "Any zone?", "Returns the time at which the version was deployed, in seconds since 1970.", pure=False
)
def _time(call: Call, zone: Any = None) -> int:
    return int(call.host.now().ns // 1_000_000_000)


@declare_legacy("date", "Any *rest", "Returns the same as time(), as a text.", module="dns", pure=False)
def _date(call: Call, *rest: Any) -> str:
    return str(_time(call))


@declare_legacy(
    "template_body",
    "Any *names",
    "Returns the source text of templates, joined.",
    module="datacat",
    pure=False,
)
def _template_body(call: Call, *names: Any) -> str:
    return "".join(_template(call, ruby_text(name)) for name in names)


def _template(call: Call, name: str) -> str:
    module, _, rest = name.partition("/")
    directory = call.host.module_directory(call.scope, module) if rest else None
    file_text = call.host.inputs.text(f"{directory}/templates/{rest}") if directory is not None else None
    if file_text is None:
        raise issues.NO_TEMPLATE.error(name=name)
    return file_text[1]


@declare(
    "convert_cert_to_string",
    "String path",
    "Returns the text of a certificate of the environment on one line, without its BEGIN and END lines.",
    module="neutron",
    pure=False,
)
def _convert_cert_to_string(call: Call, path: str) -> str:
    inner_path = call.host.environment_path(path)
    if inner_path is None:
        raise issues.OUTSIDE_ENVIRONMENT.error(path=path)
    file_text = call.host.inputs.text(inner_path)
    if file_text is None:
        raise argument_error("convert_cert_to_string", f"Certificate file not found: {path}")
    return "".join(line.strip() for line in file_text[1].splitlines() if "-----" not in line)
