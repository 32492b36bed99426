"""Functions that would ask other servers or run programs: refused, since the catalog would depend on more than its inputs."""

from typing import Any, NoReturn

from precast.lang.functions.modules.declaration import declare, declare_legacy
from precast.lang.issues import functions as issues


def _refuse(name: str, module: str, signature: str, what: str, is_legacy: bool = True) -> None:
    def body(*values: Any) -> NoReturn:
        raise issues.IMPURE.error(name=name)

    (declare_legacy if is_legacy else declare)(name, signature, f"Would {what}: refused.", module=module)(body)


_refuse("redisget", "redis", "Any key, Any url, Any default?", "ask a Redis server")
_refuse("go_md5", "archive", "Any user, Any password, Any file, Any url", "read a checksum from a web server")
_refuse("cert_date_valid", "openssl", "Any file, Any *rest", "read a certificate on the server")
_refuse(
    "archive::artifactory_checksum",
    "archive",
    "String url, Enum['sha1', 'sha256', 'md5'] type?",
    "ask an Artifactory server",
    is_legacy=False,
)
_refuse(
    "archive::artifactory_latest_url",
    "archive",
    "String url, Hash maven_data",
    "ask an Artifactory server",
    is_legacy=False,
)
