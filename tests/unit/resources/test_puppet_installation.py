"""The Puppet of a node is found by its files, without running anything."""

import os
from pathlib import Path

import pytest

from precast.resources.bridge.installation import find_puppet

PACKAGED = ("opt/puppetlabs/puppet/bin/ruby", "opt/puppetlabs/puppet/lib/ruby/vendor_ruby")
DEBIAN = ("usr/bin/ruby", "usr/lib/ruby/vendor_ruby")
GEM = ("usr/bin/ruby", "var/lib/gems/3.1.0/gems/puppet-8.4.0/lib")


def install(root: Path, ruby: str, library: str, version: str) -> None:
    for path, text in (
        (ruby, ""),
        (f"{library}/puppet/version.rb", f"module Puppet\n  PUPPETVERSION = '{version}'\nend\n"),
    ):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.mark.parametrize(
    ("place", "version", "is_tested"),
    [(PACKAGED, "8.10.0", False), (PACKAGED, "7.34.0", True), (DEBIAN, "7.23.0", True), (GEM, "8.4.0", False)],
)
def test_puppet_is_found_where_packages_put_it(
    tmp_path: Path, place: tuple[str, str], version: str, is_tested: bool
) -> None:
    install(tmp_path, *place, version)
    found = find_puppet(tmp_path)
    assert found is not None
    assert (found.ruby, found.library, found.version) == (f"/{place[0]}", f"/{place[1]}", version)
    assert found.is_tested is is_tested


def test_puppet_of_its_own_packages_is_preferred(tmp_path: Path) -> None:
    install(tmp_path, *DEBIAN, "7.23.0")
    install(tmp_path, *PACKAGED, "7.34.0")
    found = find_puppet(tmp_path)
    assert found is not None
    assert found.version == "7.34.0"


def test_library_without_its_ruby_or_without_a_version_is_no_puppet(tmp_path: Path) -> None:
    assert find_puppet(tmp_path) is None
    install(tmp_path, *DEBIAN, "7.23.0")
    (tmp_path / "usr/bin/ruby").unlink()
    assert find_puppet(tmp_path) is None
    install(tmp_path, *DEBIAN, "`id`")
    assert find_puppet(tmp_path) is None
    version = tmp_path / DEBIAN[1] / "puppet/version.rb"
    version.unlink()
    os.mkfifo(version)  # reading it would wait for ever
    assert find_puppet(tmp_path) is None
