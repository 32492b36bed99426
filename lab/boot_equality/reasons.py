"""The differences to cloud-init that Precast has on purpose. Each reason says of a difference whether it explains it.

A reason looks at the kind of a difference, never at a document: other documents must meet the same rules.
"""

import re
from collections.abc import Callable
from typing import NamedTuple


class Difference(NamedTuple):
    """One observation that differs between the two machines, with the user data and what cloud-init said."""

    path: str
    theirs: str
    ours: str
    user_data: str
    said: str

    def has_failed(self, module: str) -> bool:
        """Whether cloud-init said that a module of its own failed."""
        return re.search(rf"Running module {module.replace('-', '[-_]')} \(.*?failed", self.said) is not None


_ACCOUNTS = re.compile(r"etc/(passwd|shadow|group|gshadow|subuid|subgid)$|home/|\(sudo|(root|home/[^/]+)/\.ssh")
_LOCALES = re.compile(r"etc/(default/locale|locale\.(gen|conf))$")
_HOST_NAMES = re.compile(r"\(host name\)|etc/hostname$|etc/ssh/ssh_host_\w+_key\.pub$")
_APT_KEYS = re.compile(r"etc/apt/(trusted\.gpg\.d|cloud-init\.gpg\.d|keyrings)(/|$)")
_AUTHORITIES = re.compile(
    r"etc/ca-certificates\.conf$|usr(/local)?/share/ca-certificates(/|$)|\(certificate authorities\)"
)
_CHEF = re.compile(r"(etc|var/(backups|lib|log|cache))/chef(/|$)")

REASONS: dict[str, Callable[[Difference], bool]] = {
    "a user that cannot be created does not prevent the ones after it": lambda difference: (
        difference.has_failed("users-groups") and bool(_ACCOUNTS.match(difference.path))
    ),
    "a file that cannot be written, or whose owner is created later, does not prevent the ones after it": lambda difference: (
        difference.has_failed("write-files") and "write_files" in difference.user_data
    ),
    "a package that cannot be installed does not prevent the others": lambda difference: (
        difference.path == "(packages)"
        and difference.has_failed("package-update-upgrade-install")
        and set(difference.theirs.splitlines()) < set(difference.ours.splitlines())
    ),
    "the locale is enabled in /etc/locale.gen, as Debian's locale-gen needs it": lambda difference: (
        difference.has_failed("locale") and bool(_LOCALES.match(difference.path))
    ),
    "preserve_hostname counts in user data too": lambda difference: (
        "preserve_hostname" in difference.user_data and bool(_HOST_NAMES.match(difference.path))
    ),
    "an account without a home directory gets none for its keys": lambda difference: (
        difference.ours == "absent"
        and not difference.path.startswith(("home/", "root/"))
        and "/.ssh" in difference.path
    ),
    "keys of package sources have other file names, and stay in the form they were given in": lambda difference: bool(
        _APT_KEYS.match(difference.path)
    ),
    "certificate authorities have a file each, where the administrator's certificates are": lambda difference: bool(
        _AUTHORITIES.match(difference.path)
    ),
    "the key chef is not supported, and reported": lambda difference: bool(_CHEF.match(difference.path)),
}
