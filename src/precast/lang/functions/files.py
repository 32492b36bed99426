"""Functions that read files of the environment: their content, their paths, templates.

A path outside of the environment is refused: the file is not part of the version, so the catalog would depend on more than its
inputs.
"""

from posixpath import normpath
from typing import Any, NoReturn

from precast.base.spans import Source
from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.issues import functions as issues
from precast.lang.values.base import Binary, Hash
from precast.lang.values.unknowns import join

FILE = Function(
    "file",
    "Returns the content of the first of these files that exists; 'module/name' is below the module's files folder.",
)
FIND_FILE = Function("find_file", "Returns the path of the first of these files that exists, or undef.")
FIND_TEMPLATE = Function("find_template", "Returns the path of the first of these templates that exists, or undef.")
BINARY_FILE = Function("binary_file", "Returns the content of a file as Binary.")
MODULE_DIRECTORY = Function(
    "module_directory", "Returns the directory of the first of these modules that exists, or undef."
)
EPP = Function("epp", "Renders an EPP template of a module with parameters.", unknowns=Unknowns.FLOW)
INLINE_EPP = Function("inline_epp", "Renders an EPP text with parameters.", unknowns=Unknowns.FLOW)
TEMPLATE = Function("template", "Renders ERB templates of modules and joins the results.", unknowns=Unknowns.FLOW)
INLINE_TEMPLATE = Function("inline_template", "Renders ERB texts and joins the results.", unknowns=Unknowns.FLOW)
GENERATE = Function(
    "generate", "Would run a command on the server: refused, since a compile depends only on its inputs."
)


def _find(call: Call, folder: str, name: str, may_be_directory: bool = False) -> str | None:
    """Return the path of `module/path` below a folder of the module, or of an absolute path inside the environment; None if missing."""
    inputs, host = call.host.inputs, call.host
    if name.startswith("/"):
        path = host.environment_path(name)
        if path is None:
            raise issues.OUTSIDE_ENVIRONMENT.error(path=name)
        return path if inputs.digest(path) is not None else None
    module, _, rest = name.partition("/")
    directory = host.module_directory(call.scope, module) if rest else None
    if directory is None:
        return None
    path = normpath(f"{directory}/{folder}/{rest}")
    if not path.startswith(f"{directory}/"):
        raise issues.OUTSIDE_ENVIRONMENT.error(path=name)
    return path if inputs.digest(path) is not None or (may_be_directory and inputs.listing(path)) else None


def _content(call: Call, path: str) -> bytes:
    content = call.host.inputs.content(path)
    assert content is not None
    return content


@FILE.dispatch("Any +paths", pure=False)
def _file(call: Call, *names: Any) -> str:
    for name in names:
        if not isinstance(name, str):
            raise issues.NO_PATH.error(name="file", value=name)
        path = _find(call, "files", name)
        if path is not None:
            return _content(call, path).decode("utf-8", "replace")
    raise issues.NO_FILE.error(paths=", ".join(names))


def _declare_search(function: Function, folder: str) -> None:
    def search(call: Call, *names: str) -> str | None:
        for name in names:
            path = _find(call, folder, name, may_be_directory=True)
            if path is not None:
                return call.host.shown_path(path)
        return None

    function.dispatch("String *paths", pure=False)(search)
    function.dispatch("Array[String] *paths_array", pure=False)(
        lambda call, *lists: search(call, *(n for names in lists for n in names))
    )


_declare_search(FIND_FILE, "files")
_declare_search(FIND_TEMPLATE, "templates")


@BINARY_FILE.dispatch("String path", pure=False)
def _binary_file(call: Call, name: str) -> Binary:
    path = _find(call, "files", name)
    if path is None:
        raise issues.NO_BINARY_FILE.error(path=name)
    return Binary(_content(call, path))


@MODULE_DIRECTORY.dispatch("String *names", pure=False)
def _module_directory(call: Call, *names: str) -> str | None:
    for name in names:
        directory = call.host.module_directory(call.scope, name)
        if directory is not None:
            return call.host.shown_path(directory)
    return None


@MODULE_DIRECTORY.dispatch("Array[String] *names", pure=False)
def _module_directory_of(call: Call, *lists: tuple[str, ...]) -> str | None:
    return _module_directory(call, *(name for names in lists for name in names))


_PARAMETERS = r"Hash[Pattern[/^\w+$/], Any] parameters?"


@EPP.dispatch(rf"String path, {_PARAMETERS} >> Variant[String, Sensitive[String]]", pure=False)
def _epp(call: Call, name: str, parameters: Hash | None = None) -> Any:
    path = _find(call, "templates", name)
    if path is None and not name.endswith(".epp"):
        name += ".epp"
        path = _find(call, "templates", name)
    if path is None:
        raise issues.NO_TEMPLATE.error(name=name)
    text = _content(call, path).decode("utf-8", "replace")
    return call.host.render_epp(call.scope, Source(path, text), parameters, inline=False)


@INLINE_EPP.dispatch(rf"String template, {_PARAMETERS} >> Variant[String, Sensitive[String]]", pure=False)
def _inline_epp(call: Call, text: str, parameters: Hash | None = None) -> Any:
    return call.host.render_epp(call.scope, Source("inline_epp", text), parameters, inline=True)


@TEMPLATE.dispatch("String +paths", pure=False)
def _template(call: Call, *names: str) -> Any:
    sources = []
    for name in names:
        path = _find(call, "templates", name)
        if path is None:
            raise issues.NO_TEMPLATE.error(name=name)
        sources.append(Source(path, _content(call, path).decode("utf-8", "replace")))
    return join([call.host.render_erb(call.scope, source) for source in sources])


@INLINE_TEMPLATE.dispatch("String +texts", pure=False)
def _inline_template(call: Call, *texts: str) -> Any:
    return join([call.host.render_erb(call.scope, Source("inline_template", text)) for text in texts])


@GENERATE.dispatch("Any +command")
def _generate(*command: Any) -> NoReturn:
    raise issues.IMPURE.error(name="generate")
