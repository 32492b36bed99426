"""Types about users, groups and their keys."""

from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

USER = ManagedType(
    "user",
    "A local user account.",
    properties={
        "ensure": "present, absent or role",
        "attributes": "AIX attributes as key=value",
        "auths": "Solaris authorisations",
        "comment": "the account's description, mostly the full name",
        "expiry": "date the account expires (YYYY-MM-DD), or absent",
        "gid": "primary group, by name or number",
        "groups": "further groups",
        "home": "home directory; see managehome",
        "iterations": "iterations of a macOS password hash",
        "keys": "Solaris key=value attributes",
        "loginclass": "BSD login class",
        "password": "the password's hash as in the shadow file",
        "password_max_age": "days a password may be used",
        "password_min_age": "days before a password may be changed",
        "password_warn_days": "days before expiry to warn",
        "profiles": "Solaris profiles",
        "project": "Solaris project",
        "roles": "Solaris roles",
        "salt": "salt of a macOS password hash",
        "shell": "login shell",
        "uid": "user number",
    },
    parameters={
        "name": "login name; the title if not given",
        "allowdupe": "allow a user number that is in use",
        "attribute_membership": "inclusive or minimum, for attributes",
        "auth_membership": "inclusive or minimum, for auths",
        "forcelocal": "manage the account in local files also where a directory service is used",
        "ia_load_module": "AIX: which module manages it",
        "key_membership": "inclusive or minimum, for keys",
        "managehome": "create and remove the home directory with the account",
        "membership": "inclusive or minimum, for groups",
        "profile_membership": "inclusive or minimum, for profiles",
        "provider": "which implementation to use",
        "purge_ssh_keys": "remove ssh keys that no resource declares; true or paths of authorized_keys",
        "role_membership": "inclusive or minimum, for roles",
        "system": "create a system account, with a low number",
    },
    relations=(AutoRelation("group", ("gid", "groups")), AutoRelation("user", ("roles",))),
)

GROUP = ManagedType(
    "group",
    "A local group.",
    properties={
        "ensure": "present or absent",
        "attributes": "AIX attributes as key=value",
        "gid": "group number",
        "members": "users in the group",
    },
    parameters={
        "name": "the group's name; the title if not given",
        "allowdupe": "allow a group number that is in use",
        "attribute_membership": "inclusive or minimum, for attributes",
        "auth_membership": "whether members is the complete list",
        "forcelocal": "manage the group in local files also where a directory service is used",
        "ia_load_module": "AIX: which module manages it",
        "provider": "which implementation to use",
        "system": "create a system group, with a low number",
    },
)

SSH_AUTHORIZED_KEY = ManagedType(
    "ssh_authorized_key",
    "A key that may log in as a user.",
    properties={
        "ensure": "present or absent",
        "key": "the public key itself, without type and comment",
        "options": "options before the key, as an array",
        "target": "the authorized_keys file, if not the user's own",
        "type": "kind of key: ssh-ed25519, ssh-rsa, …",
        "user": "the account that the key may log in to",
    },
    parameters={
        "name": "the key's comment; the title if not given",
        "drop_privileges": "write the file as its user",
        "provider": "which implementation to use",
    },
    relations=(AutoRelation("user", ("user",)),),
)

SSHKEY = ManagedType(
    "sshkey",
    "A host's public key in ssh_known_hosts.",
    properties={
        "ensure": "present or absent",
        "host_aliases": "further names of the host",
        "key": "the public key itself",
        "target": "which file",
    },
    parameters={
        "name": "name of the host; the title if not given, without @type",
        "provider": "which implementation to use",
        "type": "kind of key: ssh-ed25519, ssh-rsa, …",
    },
    namevars=("name", "type"),
    title_patterns=(TitlePattern(r"(?s)^(.*?)@(.*)$", ("name", "type")), TitlePattern(r"(?s)^([^@]+)$", ("name",))),
)
