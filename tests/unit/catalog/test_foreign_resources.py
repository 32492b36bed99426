"""Which resources of a module's type are applied by Precast itself, and which by the module's own code."""

from typing import Any

import pytest

from precast.types.application import find_foreign


@pytest.mark.parametrize(
    ("type_name", "given"),
    [
        ("ini_setting", {"path": "/x", "setting": "a", "value": "1", "provider": "ruby", "name": "n", "notify": "x"}),
        ("ini_setting", {"path": "/x", "of_a_later_version": None}),
        ("archive", {"source": "https://example.com/s3:x", "provider": "curl"}),
        ("archive", {"source": "/a", "download_options": []}),
        ("sysctl", {"val": "1", "provider": "parsed"}),
        ("x509_cert", {"provider": "openssl"}),
        ("file", {"anything": 1}),
        ("of_no_module", {"anything": 1}),
    ],
)
def test_resource_with_known_parameters_and_provider_is_native(type_name: str, given: dict[str, Any]) -> None:
    assert find_foreign(type_name, given) == ""


@pytest.mark.parametrize(
    ("type_name", "given", "reason"),
    [
        ("ini_setting", {"path": "/x", "of_a_later_version": True}, "no parameter of_a_later_version"),
        ("ini_setting", {"path": "/x", "provider": "openstack"}, "provider openstack"),
        ("sysctl", {"value": "1"}, "no parameter value"),
        ("archive", {"source": "s3://bucket/a"}, "source"),
        ("archive", {"url": "ftp://example.com/a"}, "url"),
        ("archive", {"download_options": ["-k"]}, "download_options"),
        ("apt_key", {"refresh": True}, "refresh"),
        ("apt_key", {"source": "ftp://example.com/key"}, "source"),
        ("alternatives", {"path": "/x", "provider": "rpm"}, "provider rpm"),
        ("x509_cert", {"cakey": "/x"}, "no parameter cakey"),
    ],
)
def test_resource_of_another_version_or_provider_is_not(type_name: str, given: dict[str, Any], reason: str) -> None:
    assert reason in find_foreign(type_name, given)
