"""Any network configuration or cloud answer is read and rendered, or refused with a code: never a crash."""

import copy
from typing import Any

import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import PrecastError
from precast.boot.network.model import Network
from precast.boot.network.readers import clouds, documents, openstack
from precast.boot.network.renderers.selection import RENDERERS
from tests.unit.boot.network.renderings import CASES, GOLDEN

DOCUMENTS = [yaml.safe_load((GOLDEN / f"{case}.yaml").read_text()) for case in CASES]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2**40),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["dhcp", "default", "::", "0.0.0.0/0", "1.2.3.4", "1.2.3.4/99", "eth0", "bond0", "\n", "a b", "%"]),
    st.lists(st.sampled_from(["eth0", 1, None, {}]), max_size=3),
    st.dictionaries(st.sampled_from(["to", "via", "type", "name", "version"]), st.integers(), max_size=2),
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [inner for key, below in items for inner in ((*path, key), *paths(below, (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(document)
    here = made
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return made


def read(document: Any) -> Network | str:
    """The network, or the code of its error."""
    try:
        return documents.read_value("odd", document)
    except PrecastError as error:
        return error.code


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(DOCUMENTS).flatmap(lambda document: st.tuples(st.just(document), st.sampled_from(paths(document)))),
    ODD,
)
def test_document_with_something_odd_in_it_is_read_or_refused(place: tuple[Any, tuple[Any, ...]], value: Any) -> None:
    network = read(changed(*place, value))
    if isinstance(network, str):
        return
    for render in RENDERERS.values():
        for file in render(network).files:
            assert not file.path.startswith("/")
            assert ".." not in file.path.split("/")
            assert "\0" not in file.text


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        ODD, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3)
    )
)
def test_noise_is_refused(value: Any) -> None:
    read(value)


ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(["id", "type", "link", "mtu", "ethernet_mac_address", "ip_address", "netmask", "routes"]), ODD
    ),
    max_size=3,
)


@settings(max_examples=200, deadline=None)
@given(st.fixed_dictionaries({"links": ROWS, "networks": ROWS, "services": ROWS}))
def test_odd_network_data_of_openstack_is_read_or_refused(data: Any) -> None:
    read(openstack.convert_to_v2(data))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=17),
        st.dictionaries(st.sampled_from(["device-number", "local-ipv4s", "ipv6s"]), ODD),
        max_size=3,
    )
)
def test_odd_interfaces_of_ec2_are_read_or_refused(macs: Any) -> None:
    read(clouds.convert_ec2(macs))
