"""Functions of the OpenStack modules: connection URLs, checks of ranges, small conversions."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from precast.lang.functions.host import Call
from precast.lang.functions.modules.addresses import for_uri
from precast.lang.functions.modules.conversions import parse_boolean
from precast.lang.functions.modules.declaration import argument_error, declare
from precast.lang.issues import functions as issues
from precast.lang.ruby.puppet_text import ruby_text
from precast.lang.ruby.puppet_values import ruby_class, strict_integer, to_i
from precast.lang.ruby.stdlib.json_text import to_json
from precast.lang.values.base import Hash, from_data

_YUM: Final = frozenset((
    "name", "ensure", "baseurl", "cost", "descr", "enabled", "enablegroups", "exclude", "failovermethod", "gpgcheck", "gpgkey",
    "http_caching", "include", "includepkgs", "keepalive", "metadata_expire", "metalink", "mirrorlist", "priority", "protect",
    "provider", "proxy", "proxy_password", "proxy_username", "repo_gpgcheck", "s3_enabled", "skip_if_unavailable", "sslcacert",
    "sslclientcert", "sslclientkey", "sslverify", "target", "timeout",
))  # fmt: skip


@declare(
    "is_service_default",
    "Any value",
    "Returns whether a value is the text that stands for the default of the service.",
    module="openstacklib",
)
def _is_service_default(value: Any) -> bool:
    return isinstance(value, str) and value == "<SERVICE DEFAULT>"


def _check_options(name: str, given: Any, kinds: dict[str, type]) -> None:
    if not isinstance(given, Hash):
        raise argument_error(name, f"Requires an hash, got {ruby_class(given)}")
    for key, value in given.items():
        if not isinstance(value, kinds.get(key, str)):
            raise argument_error(name, f"{ruby_text(key)} should be a {'Hash' if kinds.get(key) is Hash else 'String'}")


def _percent_encode(text: str) -> str:
    return quote(text, safe="~")


def _user_info(given: Hash) -> str:
    user, password = given.get("username"), given.get("password")
    if not user:
        return ""
    return f"{_percent_encode(user)}:{_percent_encode(password)}@" if password else f"{_percent_encode(user)}@"


def _query(entries: Hash) -> str:
    return "?" + "&".join(f"{ruby_text(key)}={ruby_text(item)}" for key, item in entries.items()) if entries else ""


@declare(
    "os_database_connection", "Any options", "Returns the URL of a database for SQLAlchemy.", module="openstacklib"
)
def _os_database_connection(given: Any) -> str:
    name = "os_database_connection"
    _check_options(name, given, {"extra": Hash})
    for needed in ("dialect", "database"):
        if needed not in given:
            raise argument_error(name, f"{needed} is required")
    if "port" in given and "host" not in given:
        raise argument_error(name, "host is required with port")
    query = _query(given.get("extra", Hash()).merged({"charset": given["charset"]} if "charset" in given else {}))
    if "host" not in given:
        return f"{given['dialect']}:///{given['database']}{query}"
    host = ruby_text(for_uri(given["host"]))
    port = f":{to_i(given['port'])}" if "port" in given else ""
    return f"{given['dialect']}://{_user_info(given)}{host}{port}/{given['database']}{query}"


@declare(
    "os_transport_url", "Any options", "Returns the URL of a message bus for oslo.messaging.", module="openstacklib"
)
def _os_transport_url(given: Any) -> str:
    name = "os_transport_url"
    if isinstance(given, Hash) and "port" in given:
        given = given.merged({"port": ruby_text(given["port"])})
    _check_options(name, given, {"hosts": tuple, "query": Hash})
    if "transport" not in given:
        raise argument_error(name, "transport is required")
    if ("host" in given) == ("hosts" in given):
        raise argument_error(name, "one of host and hosts is required")
    port = f":{given['port']}" if "port" in given else ""
    hosts = given["hosts"] if "hosts" in given else (given["host"],)
    addresses = ",".join(f"{_user_info(given)}{ruby_text(for_uri(host))}{port}" for host in hosts)
    path = f"/{given['virtual_host']}" if "virtual_host" in given else "/"
    query = given.get("query", Hash())
    if "ssl" in given:
        query = query.merged({"ssl": int(parse_boolean(name, given["ssl"]))})
    return f"{given['transport']}://{addresses}{path}{_query(query)}"


def _declare_range_check(name: str, pattern: str, holds: Any, documentation: str) -> None:
    """Declare a check of a range `first:last`, or of each in an array; undef passes."""
    compiled = re.compile(pattern, re.MULTILINE)

    @declare(name, "Any *values", documentation, module="neutron")
    def body(*values: Any) -> Any:
        value = values[0] if values else None
        given = value if isinstance(value, tuple) else (value,)
        for range_ in given:
            if range_ is not None and range_ is not False and not (isinstance(range_, str) and holds(compiled, range_)):
                raise issues.FAILED.error(message=f"{name}: the range {ruby_text(range_)} is invalid")
        return given


def _is_vlan(pattern: "re.Pattern[str]", text: str) -> bool:
    match = pattern.search(text)
    if match is None:
        return re.search(r"^([^:]+)?(:\d+)?$", text, re.MULTILINE) is not None
    first, last = int(match[2]), int(match[3])
    return first <= last <= 4094


def _make_range_test(most: int, widest: int) -> Any:
    def holds(pattern: "re.Pattern[str]", text: str) -> bool:
        match = pattern.search(text)
        if match is None:
            return False
        first, last = int(match[1]), int(match[2])
        return first <= last <= most and last - first <= widest

    return holds


_NO_BOUND: Final = 1 << 62
_declare_range_check(
    "validate_network_vlan_ranges", r"^(.+:)?(\d{1,9}):(\d{1,9})$", _is_vlan, "Fails unless VLAN ranges are valid."
)
_declare_range_check(
    "validate_tunnel_id_ranges",
    r"^(\d{1,18}):(\d{1,18})$",
    _make_range_test(_NO_BOUND, 1_000_000),
    "Fails unless tunnel id ranges are valid.",
)
_declare_range_check(
    "validate_vni_ranges",
    r"^(\d{1,18}):(\d{1,18})$",
    _make_range_test(16_777_215, _NO_BOUND),
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
        raise argument_error("validate_yum_hash", "non-hash argument provided to validate_yum_hash")
    for parameters in given.values():
        for name in parameters if isinstance(parameters, Hash) else ():
            if name not in _YUM:
                raise argument_error(
                    "validate_yum_hash", f"Parameter {ruby_text(name)} is not valid for the yumrepo type"
                )
    return given or None


@declare(
    "convert_to_json_string",
    "Any *values",
    "Writes data as JSON; an array of key:value texts becomes an object.",
    module="neutron",
)
def _convert_to_json_string(*values: Any) -> str:
    value = values[0] if values else None
    if isinstance(value, tuple) and _are_entries(value):
        parts = [[*text.split(":"), None] for text in value]
        return to_json(Hash.of((key, item or None) for key, item, *_ in parts))
    return to_json(value)


def _are_entries(values: Sequence[Any]) -> bool:
    for value in values:
        if not isinstance(value, str | tuple | Hash):
            raise argument_error("convert_to_json_string", f"expects an array of texts, got {ruby_class(value)} in it")
        if ":" not in value:
            return False
    return True


@declare(
    "to_array_of_json_strings",
    "Any list",
    "Converts an array of hashes, or its JSON, to an array of JSON texts.",
    module="nova",
    pure=False,
)
def _to_array_of_json_strings(call: Call, given: Any) -> tuple[str, ...]:
    name = "to_array_of_json_strings"
    items = _from_text(call, given) if isinstance(given, str) else given
    if not isinstance(items, tuple) or not all(isinstance(item, Hash) for item in items):
        raise argument_error(name, f"Syntax error: {ruby_text(given)} is not an Array or JSON encoded String")
    return tuple(map(to_json, items))


def _from_text(call: Call, text: str) -> Any:
    for attempt in (text, text.replace("'", '"')):
        try:
            data = from_data(json.loads(attempt))
        except ValueError:
            continue
        if attempt is not text:
            call.host.log(
                "warning",
                f"{text} is not valid JSON. Support for this format is deprecated and may be removed in future.",
            )
        return data if isinstance(data, tuple) else (data,)
    raise argument_error("to_array_of_json_strings", f"Syntax error: {text} is not valid")


@declare(
    "get_ext_net_name",
    "Any *values",
    "Returns the name of the first network that has an external router.",
    module="murano",
)
def _get_ext_net_name(*values: Any) -> Any:
    networks = values[0] if values else None
    if not isinstance(networks, Hash):
        raise argument_error("get_ext_net_name", "No network data provided!")
    for name, network in networks.items():
        inner = network.get("L2", Hash()) if isinstance(network, Hash) else Hash()
        if isinstance(inner, Hash) and inner.get("router_ext") not in (None, False):
            return name
    return None


@declare(
    "range_to_mask",
    "Optional[String] ranges",
    "Returns a hexadecimal mask with the bits of ranges such as 1,3-5 set.",
    module="vswitch",
)
def _range_to_mask(ranges: str | None) -> str | None:
    if not ranges:
        return None
    if not re.search(r"^[0-9\-,]", ranges):
        raise argument_error("range_to_mask", f"expects numbers and ranges, got {ranges}")
    bits = {bit for part in ranges.split(",") for bit in _bits(part.split("-"))}
    if max(bits, default=0) > _MAX_BITS:
        raise argument_error("range_to_mask", f"a mask of more than {_MAX_BITS} bits")
    return f"{sum(1 << bit for bit in bits):x}"


_MAX_BITS: Final = 65_536


def _bits(parts: Sequence[str]) -> Sequence[int]:
    if len(parts) == 1:
        return (to_i(parts[0]),)
    first, last = to_i(parts[0]), to_i(parts[1])
    return range(first, min(last, _MAX_BITS + 1) + 1)
