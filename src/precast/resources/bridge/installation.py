"""Finds the Puppet of a node without running it: its Ruby, the directory of its library, and its version.

The first of these that exists is used: the packages of Puppet and of OpenVox, which bring a Ruby of their own; the packages of
distributions; a gem of the system's Ruby.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

# The major version that the tests run with. Others are likely to work.
TESTED: Final = "7"
_VERSION: Final = re.compile(r"""^\s*PUPPETVERSION\s*=\s*['"]([0-9][0-9A-Za-z.]{0,30})['"]""", re.MULTILINE)
_RUBY: Final = "/usr/bin/ruby"
_PLACES: Final = (
    ("/opt/puppetlabs/puppet/bin/ruby", "opt/puppetlabs/puppet/lib/ruby/vendor_ruby"),
    (_RUBY, "usr/lib/ruby/vendor_ruby"),
    (_RUBY, "usr/share/ruby/vendor_ruby"),
    (_RUBY, "var/lib/gems/*/gems/puppet-[0-9]*/lib"),
    (_RUBY, "usr/share/gems/gems/puppet-[0-9]*/lib"),
    (_RUBY, "usr/local/share/gems/gems/puppet-[0-9]*/lib"),
)
_MAX_BYTES: Final = 64 * 1024


class Installation(NamedTuple):
    """A Puppet on a node."""

    ruby: str
    library: str
    version: str

    @property
    def is_tested(self) -> bool:
        """Whether Precast's tests run with this major version."""
        return self.version.partition(".")[0] == TESTED


def find_puppet(root: Path = Path("/")) -> Installation | None:
    """The Puppet of the system at `root`; None if it has none."""
    for ruby, pattern in _PLACES:
        for library in sorted(root.glob(pattern), reverse=True):
            version = _read_version(library / "puppet/version.rb")
            if version and (root / ruby.lstrip("/")).exists():
                return Installation(ruby, f"/{library.relative_to(root)}", version)
    return None


def _read_version(path: Path) -> str:
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""
    match = _VERSION.search(text)
    return match[1] if match else ""
