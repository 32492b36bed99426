"""The handler class of each type. It is imported with the first resource of the type, so a run loads only what its catalog needs."""

import functools
import importlib

from precast.resources.contract import Handler

# Type: module and class.
_HANDLERS: dict[str, tuple[str, str]] = {
    "alternative_entry": ("precast.resources.dpkg_alternatives.alternative_entry", "AlternativeEntry"),
    "alternatives": ("precast.resources.dpkg_alternatives.alternatives", "Alternatives"),
    "anchor": ("precast.resources.organisation", "OrganisingHandler"),
    "apt_key": ("precast.resources.apt.apt_key", "AptKey"),
    "archive": ("precast.resources.archive.handler", "Archive"),
    "augeas": ("precast.resources.augeas.handler", "Augeas"),
    "concat_file": ("precast.resources.concat_file", "ConcatFile"),
    "concat_fragment": ("precast.resources.concat_fragment", "ConcatFragment"),
    "cron": ("precast.resources.cron", "Cron"),
    "datacat_collector": ("precast.resources.datacat.handlers", "DatacatCollector"),
    "datacat_fragment": ("precast.resources.datacat.handlers", "DatacatFragment"),
    "exec": ("precast.resources.exec", "Exec"),
    "file": ("precast.resources.file", "File"),
    "file_line": ("precast.resources.file_line", "FileLine"),
    "filebucket": ("precast.resources.organisation", "OrganisingHandler"),
    "group": ("precast.resources.group", "Group"),
    "host": ("precast.resources.host", "Host"),
    "ini_setting": ("precast.resources.ini_setting", "IniSetting"),
    "ini_subsetting": ("precast.resources.ini_subsetting", "IniSubsetting"),
    "mailalias": ("precast.resources.mailalias", "Mailalias"),
    "mount": ("precast.resources.mount", "Mount"),
    "mysql_database": ("precast.resources.mysql.database", "MysqlDatabase"),
    "mysql_grant": ("precast.resources.mysql.grant", "MysqlGrant"),
    "mysql_user": ("precast.resources.mysql.user", "MysqlUser"),
    "notify": ("precast.resources.notify", "Notify"),
    "package": ("precast.resources.package.handler", "Package"),
    "postgresql_psql": ("precast.resources.postgresql_psql", "PostgresqlPsql"),
    "promise": ("precast.resources.promise", "Promise"),
    "rabbitmq_plugin": ("precast.resources.rabbitmq.plugin", "RabbitmqPlugin"),
    "rabbitmq_vhost": ("precast.resources.rabbitmq.vhost", "RabbitmqVhost"),
    "resources": ("precast.resources.organisation", "Resources"),
    "schedule": ("precast.resources.organisation", "OrganisingHandler"),
    "service": ("precast.resources.service.handler", "Service"),
    "ssh_authorized_key": ("precast.resources.ssh_authorized_key", "SshAuthorizedKey"),
    "sshkey": ("precast.resources.sshkey", "Sshkey"),
    "ssl_pkey": ("precast.resources.openssl.ssl_pkey", "SslPkey"),
    "sysctl": ("precast.resources.sysctl", "Sysctl"),
    "sysctl_runtime": ("precast.resources.sysctl_runtime", "SysctlRuntime"),
    "tidy": ("precast.resources.tidy", "Tidy"),
    "user": ("precast.resources.user", "User"),
    "x509_cert": ("precast.resources.openssl.x509_cert", "X509Cert"),
    "x509_request": ("precast.resources.openssl.x509_request", "X509Request"),
    "yumrepo": ("precast.resources.yumrepo.handler", "Yumrepo"),
}


def names() -> list[str]:
    """All types that can be applied."""
    return sorted(_HANDLERS)


@functools.cache
def find(type_name: str) -> type[Handler] | None:
    """The handler class of a type, by its lower-case name; None if Precast has none."""
    entry = _HANDLERS.get(type_name)
    if entry is None:
        return None
    handler: type[Handler] = getattr(importlib.import_module(entry[0]), entry[1])
    return handler
