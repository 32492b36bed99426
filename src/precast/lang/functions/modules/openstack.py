"""What the modules of OpenStack bring: connection URLs, checks of ranges, small conversions."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from precast.lang.functions import issues
from precast.lang.functions.host import Call
from precast.lang.functions.modules.addresses import for_uri
from precast.lang.functions.modules.choices import is_yes
from precast.lang.functions.modules.declaration import declare, wrong
from precast.lang.ruby.json_text import to_json
from precast.lang.ruby.text import ruby_text
from precast.lang.ruby.values import ruby_class, strict_integer, to_i
from precast.lang.values.core import Hash, from_data

_YUM: Final = frozenset((
    "name", "ensure", "baseurl", "cost", "descr", "enabled", "enablegroups", "exclude", "failovermethod", "gpgcheck", "gpgkey",
    "http_caching", "include", "includepkgs", "keepalive", "metadata_expire", "metalink", "mirrorlist", "priority", "protect",
    "provider", "proxy", "proxy_password", "proxy_username", "repo_gpgcheck", "s3_enabled", "skip_if_unavailable", "sslcacert",
    "sslclientcert", "sslclientkey", "sslverify", "target", "timeout",
))  # fmt: skip


@declare(
    "is_service_default",
    "Any value",
    "Whether a value is the text that leaves it to the service.",
    module="openstacklib",
)
def _is_service_default(value: Any) -> bool:
    return isinstance(value, str) and value == "<SERVICE DEFAULT>"


def _checked(name: str, given: Any, kinds: dict[str, type]) -> None:
    if not isinstance(given, Hash):
        raise wrong(name, f"Requires an hash, got {ruby_class(given)}")
    for key, value in given.items():
        if not isinstance(value, kinds.get(key, str)):
            raise wrong(name, f"{ruby_text(key)} should be a {'Hash' if kinds.get(key) is Hash else 'String'}")


def _encoded(text: str) -> str:
    return quote(text, safe="~")


def _user_info(given: Hash) -> str:
    user, password = given.get("username"), given.get("password")
    if not user:
        return ""
    return f"{_encoded(user)}:{_encoded(password)}@" if password else f"{_encoded(user)}@"


def _query(entries: Hash) -> str:
    return "?" + "&".join(f"{ruby_text(key)}={ruby_text(item)}" for key, item in entries.items()) if entries else ""


@declare("os_database_connection", "Any options", "The URL of a database for SQLAlchemy.", module="openstacklib")
def _os_database_connection(given: Any) -> str:
    name = "os_database_connection"
    _checked(name, given, {"extra": Hash})
    for needed in ("dialect", "database"):
        if needed not in given:
            raise wrong(name, f"{needed} is required")
    if "port" in given and "host" not in given:
        raise wrong(name, "host is required with port")
    query = _query(given.get("extra", Hash()).merged({"charset": given["charset"]} if "charset" in given else {}))
    if "host" not in given:
        return f"{given['dialect']}:///{given['database']}{query}"
    host = ruby_text(for_uri(given["host"]))
    port = f":{to_i(given['port'])}" if "port" in given else ""
    return f"{given['dialect']}://{_user_info(given)}{host}{port}/{given['database']}{query}"


@declare("os_transport_url", "Any options", "The URL of a message bus for oslo.messaging.", module="openstacklib")
def _os_transport_url(given: Any) -> str:
    name = "os_transport_url"
    if isinstance(given, Hash) and "port" in given:
        given = given.merged({"port": ruby_text(given["port"])})
    _checked(name, given, {"hosts": tuple, "query": Hash})
    if "transport" not in given:
        raise wrong(name, "transport is required")
    if ("host" in given) == ("hosts" in given):
        raise wrong(name, "one of host and hosts is required")
    port = f":{given['port']}" if "port" in given else ""
    hosts = given["hosts"] if "hosts" in given else (given["host"],)
    places = ",".join(f"{_user_info(given)}{ruby_text(for_uri(host))}{port}" for host in hosts)
    path = f"/{given['virtual_host']}" if "virtual_host" in given else "/"
    query = given.get("query", Hash())
    if "ssl" in given:
        query = query.merged({"ssl": int(is_yes(name, given["ssl"]))})
    return f"{given['transport']}://{places}{path}{_query(query)}"


def _ranges(name: str, pattern: str, holds: Any, documentation: str) -> None:
    """A check of ranges `first:last`, each of an array or one alone; undef passes."""
    compiled = re.compile(pattern, re.MULTILINE)

    @declare(name, "Any *values", documentation, module="neutron")
    def body(*values: Any) -> Any:
        value = values[0] if values else None
        given = value if isinstance(value, tuple) else (value,)
        for each in given:
            if each is not None and each is not False and not (isinstance(each, str) and holds(compiled, each)):
                raise issues.FAILED.error(message=f"{name}: the range {ruby_text(each)} is invalid")
        return given


def _is_vlan(pattern: "re.Pattern[str]", text: str) -> bool:
    found = pattern.search(text)
    if found is None:
        return re.search(r"^([^:]+)?(:\d+)?$", text, re.MULTILINE) is not None
    first, last = int(found[2]), int(found[3])
    return first <= last <= 4094


def _is_range(most: int, widest: int) -> Any:
    def holds(pattern: "re.Pattern[str]", text: str) -> bool:
        found = pattern.search(text)
        if found is None:
            return False
        first, last = int(found[1]), int(found[2])
        return first <= last <= most and last - first <= widest

    return holds


_NO_BOUND: Final = 1 << 62
_ranges("validate_network_vlan_ranges", r"^(.+:)?(\d{1,9}):(\d{1,9})$", _is_vlan, "Fails unless VLAN ranges are valid.")
_ranges(
    "validate_tunnel_id_ranges",
    r"^(\d{1,18}):(\d{1,18})$",
    _is_range(_NO_BOUND, 1_000_000),
    "Fails unless tunnel id ranges are valid.",
)
_ranges(
    "validate_vni_ranges",
    r"^(\d{1,18}):(\d{1,18})$",
    _is_range(16_777_215, _NO_BOUND),
    "Fails unless VNI ranges are valid.",
)


@declare("validate_vxlan_udp_port", "Any port", "Fails unless a port is 4789, or above 49151.", module="neutron")
def _validate_vxlan_udp_port(value: Any) -> None:
    port = strict_integer(value)
    if port is None or (port != 4789 and not 49151 < port <= 65535):
        raise issues.FAILED.error(message="vxlan udp port is invalid.")


@declare(
    "validate_yum_hash",
    "Any repositories",
    "Fails unless a hash has only parameters of yumrepo.",
    module="openstack_extras",
)
def _validate_yum_hash(given: Any) -> Any:
    if not isinstance(given, Hash):
        raise wrong("validate_yum_hash", "non-hash argument provided to validate_yum_hash")
    for parameters in given.values():
        for name in parameters if isinstance(parameters, Hash) else ():
            if name not in _YUM:
                raise wrong("validate_yum_hash", f"Parameter {ruby_text(name)} is not valid for the yumrepo type")
    return given or None


@declare(
    "convert_to_json_string", "Any *values", "Data as JSON; an array of key:value texts as an object.", module="neutron"
)
def _convert_to_json_string(*values: Any) -> str:
    value = values[0] if values else None
    if isinstance(value, tuple) and _are_entries(value):
        parts = [[*each.split(":"), None] for each in value]
        return to_json(Hash.of((each[0], each[1] or None) for each in parts))
    return to_json(value)


def _are_entries(values: Sequence[Any]) -> bool:
    for each in values:
        if not isinstance(each, str | tuple | Hash):
            raise wrong("convert_to_json_string", f"takes an array of texts, got {ruby_class(each)} in it")
        if ":" not in each:
            return False
    return True


@declare(
    "to_array_of_json_strings",
    "Any list",
    "An array of hashes, or JSON of one, as an array of JSON texts.",
    module="nova",
    pure=False,
)
def _to_array_of_json_strings(call: Call, given: Any) -> tuple[str, ...]:
    name = "to_array_of_json_strings"
    items = _from_text(call, given) if isinstance(given, str) else given
    if not isinstance(items, tuple) or not all(isinstance(each, Hash) for each in items):
        raise wrong(name, f"Syntax error: {ruby_text(given)} is not an Array or JSON encoded String")
    return tuple(map(to_json, items))


def _from_text(call: Call, text: str) -> Any:
    for attempt in (text, text.replace("'", '"')):
        try:
            found = from_data(json.loads(attempt))
        except ValueError:
            continue
        if attempt is not text:
            call.host.log(
                "warning",
                f"{text} is not valid JSON. Support for this format is deprecated and may be removed in future.",
            )
        return found if isinstance(found, tuple) else (found,)
    raise wrong("to_array_of_json_strings", f"Syntax error: {text} is not valid")


@declare("get_ext_net_name", "Any *values", "The first network that has an external router.", module="murano")
def _get_ext_net_name(*values: Any) -> Any:
    networks = values[0] if values else None
    if not isinstance(networks, Hash):
        raise wrong("get_ext_net_name", "No network data provided!")
    for name, network in networks.items():
        inner = network.get("L2", Hash()) if isinstance(network, Hash) else Hash()
        if isinstance(inner, Hash) and inner.get("router_ext") not in (None, False):
            return name
    return None


@declare(
    "range_to_mask",
    "Optional[String] ranges",
    "A hexadecimal mask with the bits of ranges set: 1,3-5.",
    module="vswitch",
)
def _range_to_mask(ranges: str | None) -> str | None:
    if not ranges:
        return None
    if not re.search(r"^[0-9\-,]", ranges):
        raise wrong("range_to_mask", f"takes numbers and ranges, got {ranges}")
    bits = {bit for part in ranges.split(",") for bit in _bits(part.split("-"))}
    if max(bits, default=0) > _MOST_BITS:
        raise wrong("range_to_mask", f"a mask of more than {_MOST_BITS} bits")
    return f"{sum(1 << bit for bit in bits):x}"


_MOST_BITS: Final = 65_536


def _bits(parts: Sequence[str]) -> Sequence[int]:
    if len(parts) == 1:
        return (to_i(parts[0]),)
    first, last = to_i(parts[0]), to_i(parts[1])
    return range(first, min(last, _MOST_BITS + 1) + 1)
