"""The variables that templates of user data find."""

from typing import Any

import pytest

from precast.boot.capabilities import Capability
from precast.boot.configuration import make_variables


@pytest.mark.parametrize(
    ("platform", "metadata", "name"),
    [
        ("ec2", {}, "ec2"),
        ("nocloud", {}, "unknown"),  # a seed does not say which cloud it is in
        ("nocloud", {"cloud-name": "Mine"}, "mine"),
        ("nocloud", {"cloud-name": 5}, "unknown"),
    ],
)
def test_cloud_has_the_name_that_cloud_init_gives_it(platform: str, metadata: dict[str, Any], name: str) -> None:
    variables = make_variables({Capability.PLATFORM: platform, Capability.METADATA: metadata}, {})
    assert [variables["v1"][key] for key in ("platform", "cloud_name", "cloud_id")] == [
        platform,
        name,
        platform if name == "unknown" else name,
    ]
    assert variables["cloud_name"] == name
