"""The differences to cloud-init that Precast has on purpose. Each reason says of a difference whether it explains it.

A reason looks at the kind of a difference, never at one document: other documents must meet the same rules.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from lab.debian_root import CLOUD_PLACE


class Difference(NamedTuple):
    """One observation that differs between the two machines, with the user data and what cloud-init said.

    `image` is the same observation of a machine that was not booted, `void` that of one that cloud-init booted without user data.
    """

    path: str
    theirs: str
    ours: str
    user_data: str
    said: str
    image: str
    void: str

    def is_at(self, pattern: str) -> bool:
        return re.match(pattern, self.path) is not None

    def has_failed(self, *modules: str) -> bool:
        """Whether cloud-init said that one of these modules of its own failed."""
        names = "|".join(module.replace("-", "[-_]") for module in modules)
        return re.search(rf"Running module ({names}) \(.*?failed", self.said) is not None

    def has_key(self, pattern: str) -> bool:
        """Whether the user data has a top-level key."""
        return re.search(rf"^({pattern})\s*:", self.user_data, re.MULTILINE) is not None

    @property
    def document(self) -> dict[str, Any]:
        """The user data as a mapping; empty if it is not one."""
        try:
            document = yaml.safe_load(self.user_data)
        except yaml.YAMLError:
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def heads(self) -> tuple[str, str]:
        """Kind, mode and owner, without the content."""
        return self.theirs.partition("\n")[0], self.ours.partition("\n")[0]


_ACCOUNTS = r"etc/(passwd|shadow|group|gshadow|subuid|subgid)$|home/|\(sudo|(root|home/[^/]+)/\.ssh"
_NAMES = r"\(host name\)|etc/hostname$|etc/hosts$|etc/ssh/ssh_host_\w+_key\.pub$"
_AUTHORITIES = r"etc/ca-certificates\.conf$|usr(/local)?/share/ca-certificates(/|$)|\(certificate authorities\)"
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")


def _has_more_members(difference: Difference) -> bool:
    """Whether both machines have the same groups, and ours has members that the other lacks."""
    if not difference.is_at(r"etc/g(roup|shadow)$") or not difference.has_key("groups"):
        return False
    theirs, ours = ([line.split(":") for line in side.splitlines()] for side in (difference.theirs, difference.ours))
    return [row[:-1] for row in theirs] == [row[:-1] for row in ours] and all(
        set(filter(None, row[-1].split(","))) <= set(own[-1].split(",")) for row, own in zip(theirs, ours, strict=True)
    )


def _is_of_missing_home(difference: Difference) -> bool:
    """Whether the path is a home directory in the image's list of accounts that the image lacks, or a file for keys in it."""
    homes = {line.split(":")[5].strip("/") for line in (CLOUD_PLACE / "etc/passwd").read_text().splitlines()}
    return re.sub(r"/\.ssh(/authorized_keys)?$", "", difference.path) in homes


def _has_invalid_name(difference: Difference) -> bool:
    """Whether the user data asks for a host name that no machine can have."""
    names = re.findall(r"^(?:hostname|fqdn):[ \t]*(\S.*?)\s*$", difference.user_data, re.MULTILINE)
    return difference.is_at(_NAMES) and not all(
        _LABEL.fullmatch(label) for name in names for label in name.strip("'\"").split(".")
    )


def _has_key_without_value(difference: Difference) -> bool:
    """Whether one of the keys that decide about this path has no value."""
    document = difference.document
    return any(
        key in document and document[key] is None and difference.is_at(paths)
        for key, paths in {"users": _ACCOUNTS, "hostname": _NAMES, "fqdn": _NAMES}.items()
    )


# Where modules of cloud-init write that its list for Debian lacks, and those that a list in the user data may lack.
_UNLISTED = {"wireguard": r"etc/wireguard(/|$)", "resolv_conf": r"etc/resolv\.conf$"}
_LISTED = {
    "locale": r"etc/(default/locale|locale\.gen)$",
    "package_update_upgrade_install": r"\(packages\)$",
    "set_passwords": r"etc/shadow$|\(sshd\)$",
    "timezone": r"etc/(timezone|localtime)$",
}


def _is_of_unlisted_module(difference: Difference) -> bool:
    """Whether the path is one of a module that neither cloud-init's list nor one in the user data has."""
    lists = [difference.document.get(f"cloud_{stage}_modules") for stage in ("init", "config", "final")]
    entries = [entry for listed in lists for entry in listed or ()]
    names = {str(entry[0] if isinstance(entry, list) else entry).replace("-", "_") for entry in entries}
    candidates = {**_UNLISTED, **(_LISTED if entries else {})}
    return any(difference.is_at(paths) for name, paths in candidates.items() if name not in names)


def _is_of_written_file(difference: Difference) -> bool:
    """Whether the path is one of write_files, a directory of one, or in a home directory that has one."""
    path = f"/{difference.path}"
    home = re.match(r"/home/[^/]+", path)
    entries = difference.document.get("write_files")
    names = [f"/{str(entry.get('path')).lstrip('/')}" for entry in entries or () if isinstance(entry, dict)]
    return any(
        name == path or name.startswith(f"{path}/") or (home is not None and name.startswith(f"{home[0]}/"))
        for name in names
    )


REASONS: dict[str, Callable[[Difference], bool]] = {
    "invalid YAML or an include that cannot be fetched does not void the rest": lambda difference: (
        ("Failed loading yaml blob" in difference.said and difference.theirs == difference.void)
        or ("failed stage init" in difference.said and difference.theirs == difference.image)
    ),
    "a user that cannot be created does not prevent the ones after it": lambda difference: (
        difference.has_failed("users-groups") and difference.is_at(_ACCOUNTS)
    ),
    "a file that cannot be written, or whose owner is created later, does not prevent the ones after it": lambda difference: (
        difference.has_failed("write-files") and _is_of_written_file(difference)
    ),
    "a package that cannot be installed does not prevent the others": lambda difference: (
        difference.path == "(packages)"
        and difference.has_failed("package-update-upgrade-install")
        and set(difference.theirs.splitlines()) < set(difference.ours.splitlines())
    ),
    "a rule for sudo that visudo refuses is not written": lambda difference: (
        difference.path == "(sudo rules)"
        and "sudo:" in difference.user_data
        and set(difference.ours.splitlines()) < set(difference.theirs.splitlines())
    ),
    "a package source that fails does not prevent the others": lambda difference: (
        difference.path == "(package sources)"
        and difference.has_failed("apt-configure")
        and set(difference.theirs.splitlines()) < set(difference.ours.splitlines())
    ),
    "a value of another form does not prevent its module": lambda difference: (
        (difference.has_failed("set-hostname", "update-hostname", "update-etc-hosts") and difference.is_at(_NAMES))
        or (difference.has_failed("runcmd", "bootcmd") and f"/{difference.path}" in difference.user_data)
    ),
    "a file of the key output contains what each program prints": lambda difference: (
        f"/{difference.path}" in str(difference.document.get("output", ""))
    ),
    "a seed can be read by root only": lambda difference: (
        difference.has_key("random_seed") and difference.theirs.replace("-rw-r--r--", "-rw-------") == difference.ours
    ),
    "a key without a value counts as absent": _has_key_without_value,
    "one value counts as a list of one": lambda difference: (
        difference.is_at(r"(root|home/[^/]+)/\.ssh")
        and isinstance(difference.document.get("ssh_authorized_keys"), str)
    ),
    "users of this boot become members of groups too": _has_more_members,
    "an invalid host name is reported, and the data source's name stays": _has_invalid_name,
    "preserve_hostname counts in user data too": lambda difference: (
        difference.document.get("preserve_hostname") is True and difference.is_at(_NAMES)
    ),
    "the locale is enabled in /etc/locale.gen, as Debian's locale-gen needs it": lambda difference: (
        difference.has_failed("locale") and difference.is_at(r"etc/(default/locale|locale\.(gen|conf))$")
    ),
    "the keyboard is set without systemd too": lambda difference: (
        difference.has_failed("keyboard") and difference.is_at(r"etc/default/keyboard$")
    ),
    "an account without a home directory gets none for its keys": lambda difference: (
        difference.ours == "absent" and difference.has_key("users") and _is_of_missing_home(difference)
    ),
    "HOME and INSTANCE_ID are set for the user's commands": lambda difference: (
        re.search(r"HOME|INSTANCE_ID", difference.user_data) is not None
        and f"/{difference.path}" in difference.user_data
        and difference.theirs == difference.ours.replace("/root", "").replace("i-equal", "")
    ),
    "options of a key stay, also for root": lambda difference: (
        difference.is_at(r"root/\.ssh/authorized_keys$")
        and difference.document.get("disable_root") is False
        and sorted(re.sub(r"(?m)^.* (?=ssh-|ecdsa-|sk-)", "", difference.ours).splitlines())
        == sorted(difference.theirs.splitlines())
    ),
    "the directory of a user's keys belongs to the user, also if a file in it is written before the keys": lambda difference: (
        difference.is_at(r"home/[^/]+/\.ssh$")
        and difference.theirs == "drwxr-xr-x 0:0"
        and difference.ours.startswith("drwx------ ")
    ),
    "permissions are set after the owner, and digits without quotes are octal": lambda difference: (
        _is_of_written_file(difference)
        and difference.heads[0] != difference.heads[1]
        and difference.theirs.partition("\n")[2] == difference.ours.partition("\n")[2]
        and re.search(r"permissions: *(?:['\"]?[2467]\d{3}\b|[1-7]\d\d\b)", difference.user_data) is not None
    ),
    "public host keys can be read by all, as newer releases write them": lambda difference: (
        difference.is_at(r"etc/ssh/ssh_host_\w+_key(-cert)?\.pub$")
        and difference.theirs.replace("-rw-------", "-rw-r--r--").rstrip() == difference.ours.rstrip()
    ),
    "keys of package sources have other file names, and stay in the form they were given in": lambda difference: (
        difference.is_at(r"etc/apt/(trusted\.gpg\.d|cloud-init\.gpg\.d|keyrings)(/|$)")
        or (
            difference.path == "(package sources)"
            and "$KEY_FILE" in difference.user_data
            and len({re.sub(r"signed-by=[^\] ]+", "signed-by", side) for side in difference[1:3]}) == 1
        )
    ),
    "older keys of apt count beside the image's own": lambda difference: (
        difference.path == "(package sources)"
        and difference.has_key("apt_[a-z_]+")
        and set(difference.image.splitlines()) < set(difference.ours.splitlines())
    ),
    "certificate authorities have a file each, where the administrator's certificates are": lambda difference: (
        difference.is_at(_AUTHORITIES) and difference.has_key("ca[-_]certs")
    ),
    "every module runs that has something to do, whatever modules the image or the user data lists": lambda difference: (
        _is_of_unlisted_module(difference)
    ),
    "the key chef is not supported, and reported": lambda difference: (
        difference.is_at(r"(etc|var/(backups|lib|log|cache))/chef(/|$)")
    ),
}  # fmt: skip
