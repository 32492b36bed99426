"""Which resources of a module's type are applied by Precast's own handler."""

import pytest

from precast.base.errors import InputError
from precast.resources import registry
from precast.resources.contract import DesiredResource


def check(type_name: str, **parameters: object) -> None:
    handler = registry.find(type_name)
    assert handler is not None
    registry.check_is_native(handler, DesiredResource(type_name, "x", parameters))


def test_resource_with_known_parameters_and_provider_is_native() -> None:
    check("ini_setting", path="/x", setting="a", value="1", provider="ruby")
    check("file", path="/x", provider="posix")


def test_resource_with_a_parameter_of_another_version_is_not_native() -> None:
    with pytest.raises(InputError, match="no parameter delete_if_empty"):
        check("ini_setting", path="/x", setting="a", value="1", delete_if_empty=True)


def test_resource_with_another_provider_is_not_native() -> None:
    with pytest.raises(InputError, match="provider openstack"):
        check("ini_setting", path="/x", setting="a", value="1", provider="openstack")
