"""What modules of single services bring: archive, staging, collectd, memcached, mcollective."""

import re
from typing import Any, Final
from urllib.parse import quote_plus

from precast.lang.functions.host import Call
from precast.lang.functions.modules.declaration import declare, declare_older, wrong
from precast.lang.functions.modules.numbers import UNITS
from precast.lang.inputs import ABSENT
from precast.lang.ruby.paths import basename, dirname, extname
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import to_f, to_i
from precast.lang.values.core import Hash, is_number


@declare_older(
    "collectd_convert_processes",
    "Any processes",
    "A hash of names to options, from an array of names and of hashes with a name.",
    module="collectd",
)
def _collectd_convert_processes(given: Any) -> Hash:
    if isinstance(given, Hash):
        return given
    if not isinstance(given, tuple) or not all(isinstance(each, str | Hash) for each in given):
        raise wrong("collectd_convert_processes", "takes an array of strings and hashes")
    return Hash.of((each, Hash()) if isinstance(each, str) else _named(each) for each in given)


def _named(process: Hash) -> tuple[Any, Hash]:
    return process.get("name"), Hash.of(entry for entry in process.items() if entry[0] != "name")


@declare_older(
    "mco_array_to_string", "Array list, Any *rest", "The elements of an array as texts.", module="mcollective"
)
def _mco_array_to_string(items: tuple[Any, ...], *rest: Any) -> tuple[str, ...]:
    return tuple(map(ruby_text, items))


@declare(
    "memcached::max_memory",
    "Any limit >> Integer",
    "Megabytes for memcached: a number, or a share of the node's memory as 75%; 95% without one.",
    module="memcached",
    pure=False,
)
def _max_memory(call: Call, limit: Any) -> int:
    given = limit if limit is not None and limit is not False else "95%"
    if not ruby_text(given).endswith("%"):
        return int(given) if is_number(given) else to_i(ruby_text(given))
    size = call.host.fact_value("facts", ("memorysize",))
    found = _SIZE.search(size) if size is not ABSENT and isinstance(size, str) else None
    if found is None or found[2] not in UNITS:
        raise wrong("memcached::max_memory", "the node has no fact memorysize that can be read")
    bits = 50 if found[2] == "E" else UNITS[found[2]]
    megabytes = int(to_f(found[1]) * (1 << bits)) // (1 << 20)
    return int(megabytes * (to_f(ruby_text(given)) / 100.0))


_SIZE: Final = re.compile(r"([0-9.e+-]*)\s*([^bB]?)", re.DOTALL)


@declare_older(
    "assemble_nexus_url",
    "Any url, Any parameters?, Any *rest",
    "The URL of an artifact of a Nexus server.",
    module="archive",
)
def _assemble_nexus_url(url: Any, parameters: Any = Hash(), *rest: Any) -> str:  # noqa: B008 (never changed)
    if not isinstance(parameters, Hash) or not all(isinstance(item, str) for item in parameters.values()):
        raise wrong("assemble_nexus_url", "takes a URL and a hash of texts")
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
    "The parts of the URL of an artifact of an Artifactory server; undef if it is none.",
    module="archive",
)
def _parse_artifactory_url(url: str) -> Hash | None:
    found = _ARTIFACT.search(url)
    return None if found is None else Hash.of(found.groupdict().items())


_URI: Final = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://[^/?#]*)?([^?#]*)(?:\?[^#]*)?(?:#.*)?")
_IN_URI: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9a-fA-F]{2})*")


@declare_older(
    "staging_parse",
    "String source, Any part?, Any extension?",
    "A part of a source's path: filename, basename, extname or parent.",
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
            raise wrong("staging_parse", f"unknown parse info {ruby_text(part)}.")


def _path_of(source: str) -> str:
    text = source.replace("\\", "/")
    found = _URI.fullmatch(text) if _IN_URI.fullmatch(text) else None
    if found is None:
        raise wrong("staging_parse", f"bad URI(is not URI?): {source}")
    if found[1] and not found[2].startswith("/") and found[2]:
        raise wrong("staging_parse", f"{source} has no URI 'path' component")
    return found[2]
