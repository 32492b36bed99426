"""The type of repositories of yum and dnf."""

from typing import Final

from precast.types.declaration import ManagedType

_FLAG: Final = "true, false, 1, 0, yes or no; absent removes it"
_URL: Final = "a URL; absent removes it"
_TEXT: Final = "its text; absent removes it"

FLAGS: Final = (
    "enabled", "gpgcheck", "payload_gpgcheck", "repo_gpgcheck", "enablegroups", "module_hotfixes", "keepalive", "protect", "s3_enabled",
    "sslverify", "skip_if_unavailable", "assumeyes",
)  # fmt: skip
URLS: Final = ("mirrorlist", "baseurl", "gpgkey", "include", "gpgcakey", "proxy", "metalink")
# Regular expressions that whole values match.
PATTERNS: Final = {
    "mirrorlist_expire": r"[0-9]+",
    "failovermethod": r"roundrobin|priority",
    "retries": r"[0-9]+",
    "http_caching": r"packages|all|none",
    "timeout": r"[0-9]+",
    "metadata_expire": r"[0-9]+[dhm]?|never",
    "priority": r"-?[0-9]+",
    "minrate": r"[0-9]+",
    "throttle": r"[0-9]+[kMG%]?",
    "bandwidth": r"[0-9]+[kMG]?",
    "cost": r"[0-9]+",
    "deltarpm_percentage": r"[0-9]+",
    "deltarpm_metadata_percentage": r"[0-9]+",
}
# In the order in which they are written into a new file.
PROPERTIES: Final = {
    "descr": "the repository's description; absent removes it",
    "mirrorlist": _URL,
    "baseurl": "one or several URLs; absent removes it",
    "enabled": _FLAG,
    "gpgcheck": _FLAG,
    "payload_gpgcheck": _FLAG,
    "repo_gpgcheck": _FLAG,
    "gpgkey": "one or several URLs; absent removes it",
    "mirrorlist_expire": "seconds",
    "include": _URL,
    "exclude": "names or patterns of packages",
    "gpgcakey": _URL,
    "includepkgs": "names or patterns of packages",
    "enablegroups": _FLAG,
    "module_hotfixes": _FLAG,
    "failovermethod": "roundrobin or priority",
    "keepalive": _FLAG,
    "retries": "how often",
    "http_caching": "packages, all or none",
    "timeout": "seconds",
    "metadata_expire": "seconds, or with d, h, m; never",
    "protect": _FLAG,
    "priority": "a number",
    "minrate": "bytes per second",
    "throttle": "bytes per second, with k, M, G or %",
    "bandwidth": "bytes per second, with k, M or G",
    "cost": "a number",
    "proxy": "a URL; _none_ for no proxy; absent removes it",
    "proxy_username": _TEXT,
    "proxy_password": "never shown",
    "s3_enabled": _FLAG,
    "sslcacert": _TEXT,
    "sslverify": _FLAG,
    "sslclientcert": _TEXT,
    "sslclientkey": _TEXT,
    "metalink": _URL,
    "skip_if_unavailable": _FLAG,
    "assumeyes": _FLAG,
    "deltarpm_percentage": "per cent",
    "deltarpm_metadata_percentage": "per cent",
    "username": _TEXT,
    "password": "never shown",
}

YUMREPO: Final = ManagedType(
    "yumrepo",
    "A repository of yum or dnf.",
    properties={"ensure": "present or absent", **PROPERTIES},
    parameters={
        "name": "the repository's id; the title if not given",
        "target": "its file, if not NAME.repo",
        "provider": "which implementation to use",
    },
)
