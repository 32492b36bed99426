"""Functions of modules for single applications: archive, staging, collectd, memcached, mcollective."""

import re
from typing import Any, Final
from urllib.parse import quote_plus

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import argument_error, declare, declare_legacy
from precast.lang.functions.modules.numbers import UNITS
from precast.lang.inputs import ABSENT
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import to_f, to_i
from precast.lang.ruby.stdlib.paths import basename, dirname, extname
from precast.lang.values.base import Hash, is_number


@declare_legacy(
    "collectd_convert_processes",
    "Any processes",
    "Converts an array of names and of hashes with a name to a hash of names and options.",
    module="collectd",
)
def _collectd_convert_processes(given: Any) -> Hash:
    if isinstance(given, Hash):
        return given
    if not isinstance(given, tuple) or not all(isinstance(process, str | Hash) for process in given):
        raise argument_error("collectd_convert_processes", "expects an array of strings and hashes")
    return Hash.of((process, Hash()) if isinstance(process, str) else _split_name(process) for process in given)


def _split_name(process: Hash) -> tuple[Any, Hash]:
    return process.get("name"), Hash.of(entry for entry in process.items() if entry[0] != "name")


@declare_legacy(
    "mco_array_to_string", "Array list, Any *rest", "Converts the elements of an array to texts.", module="mcollective"
)
def _mco_array_to_string(items: tuple[Any, ...], *rest: Any) -> tuple[str, ...]:
    return tuple(map(ruby_text, items))


@declare(
    "memcached::max_memory",
    "Any limit >> Integer",
    "Returns the megabytes for memcached: a number, or a share of the node's memory such as 75%; without a limit, 95%.",
    module="memcached",
    pure=False,
)
def _max_memory(call: Call, limit: Any) -> int:
    given = limit if limit is not None and limit is not False else "95%"
    if not ruby_text(given).endswith("%"):
        return int(given) if is_number(given) else to_i(ruby_text(given))
    size = call.host.fact_value("facts", ("memorysize",))
    match = _SIZE.search(size) if size is not ABSENT and isinstance(size, str) else None
    if match is None or match[2] not in UNITS:
        raise argument_error("memcached::max_memory", "the fact memorysize is missing or invalid")
    bits = 50 if match[2] == "E" else UNITS[match[2]]
    megabytes = int(to_f(match[1]) * (1 << bits)) // (1 << 20)
    return int(megabytes * (to_f(ruby_text(given)) / 100.0))


_SIZE: Final = re.compile(r"([0-9.e+-]*)\s*([^bB]?)", re.DOTALL)


@declare_legacy(
    "assemble_nexus_url",
    "Any url, Any parameters?, Any *rest",
    "Returns the URL of an artifact on a Nexus server.",
    module="archive",
)
def _assemble_nexus_url(url: Any, parameters: Any = Hash(), *rest: Any) -> str:  # noqa: B008 (immutable)
    if not isinstance(parameters, Hash) or not all(isinstance(item, str) for item in parameters.values()):
        raise argument_error("assemble_nexus_url", "expects a URL and a hash of texts")
    query = "&".join(f"{ruby_text(key)}={quote_plus(item)}" for key, item in parameters.items())
    return f"{ruby_text(url)}/service/local/artifact/maven/content?{query}"


_ARTIFACT: Final = re.compile(
    r"(?P<base_url>.*/artifactory)/(?P<repository>[^/]+)/(?P<org_path>.+?)/(?P<module>[^/]+)/(?P<base_rev>[^/]+?)"
    r"(?:-(?P<folder_iteg_rev>SNAPSHOT))?/(?P=module)-(?P=base_rev)(?:-(?P<file_iteg_rev>SNAPSHOT|(?:[0-9]{8}.[0-9]{6})-(?:[0-9]+)))?"
    r"(?:-(?P<classifier>[^/]+?))?\.(?P<ext>(?!\d)[^\-/]+|7z)"
)


@declare(
    "archive::parse_artifactory_url",
    "Pattern[/(?i:\\Ahttps?:\\/\\/.*)/] url",
    "Returns the parts of the URL of an artifact on an Artifactory server; undef for other URLs.",
    module="archive",
)
def _parse_artifactory_url(url: str) -> Hash | None:
    match = _ARTIFACT.search(url)
    return None if match is None else Hash.of(match.groupdict().items())


_URI: Final = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://[^/?#]*)?([^?#]*)(?:\?[^#]*)?(?:#.*)?")
_URI_CHARS: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9a-fA-F]{2})*")


@declare_legacy(
    "staging_parse",
    "String source, Any part?, Any extension?",
    "Returns a part of the path of a source: filename, basename, extname or parent.",
    module="staging",
)
def _staging_parse(source: str, part: Any = "filename", extension: Any = None) -> str:
    path = _path_of(source)
    match part:
        case "filename" | False:
            return basename(path)
        case "basename":
            return basename(path, extname(path) if extension is None else ruby_text(extension))
        case "extname":
            return extname(path)
        case "parent":
            return dirname(path)
        case _:
            raise argument_error("staging_parse", f"unknown parse info {ruby_text(part)}.")


def _path_of(source: str) -> str:
    text = source.replace("\\", "/")
    match = _URI.fullmatch(text) if _URI_CHARS.fullmatch(text) else None
    if match is None:
        raise argument_error("staging_parse", f"bad URI(is not URI?): {source}")
    if match[1] and not match[2].startswith("/") and match[2]:
        raise argument_error("staging_parse", f"{source} has no URI 'path' component")
    return match[2]
