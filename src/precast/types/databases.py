"""Types about databases that modules declare and Precast implements: those of postgresql and mysql."""

from precast.types.declaration import AutoRelation, ManagedType

_ENSURE = "present or absent"
_PROVIDER = "which implementation to use"

POSTGRESQL_PSQL = ManagedType(
    "postgresql_psql",
    "An SQL command that psql runs when it is needed.",
    properties={"command": "the SQL; the title if not given"},
    parameters={
        "name": "an arbitrary name; the title if not given",
        "unless": "a query: the command runs only if it returns no row",
        "onlyif": "a query: the command runs only if it returns a row",
        "connect_settings": "variables for libpq, as PGHOST and PGPORT",
        "db": "the database; replaces PGDATABASE",
        "port": "the server's port; replaces PGPORT",
        "search_path": "schemas to search, one or several",
        "psql_path": "the program (psql)",
        "psql_user": "the user who runs it (postgres)",
        "psql_group": "the group that runs it (postgres)",
        "cwd": "where it runs (/tmp)",
        "environment": "variables as NAME=value, one or several; $NAME in the SQL is replaced",
        "refreshonly": "run only when refreshed",
        "sensitive": "show nothing of the command",
    },
    relations=(
        AutoRelation("anchor", (), titles=("postgresql::server::service::begin",)),
        AutoRelation("service", (), titles=("postgresqld",)),
    ),
    module="postgresql",
)

_OPTION_FILE = AutoRelation("file", (), titles=("/root/.my.cnf",))

MYSQL_USER = ManagedType(
    "mysql_user",
    "An account of MySQL or MariaDB.",
    properties={
        "ensure": _ENSURE,
        "password_hash": "hash of the password, as mysql::password makes it",
        "plugin": "authentication plug-in",
        "max_user_connections": "connections at the same time; 0: no limit",
        "max_connections_per_hour": "connections in an hour; 0: no limit",
        "max_queries_per_hour": "queries in an hour; 0: no limit",
        "max_updates_per_hour": "updates in an hour; 0: no limit",
        "tls_options": "NONE, SSL, X509, or CIPHER, ISSUER and SUBJECT with their values",
    },
    parameters={"name": "user@host; the title if not given", "provider": _PROVIDER},
    relations=(_OPTION_FILE,),
    module="mysql",
)

MYSQL_GRANT = ManagedType(
    "mysql_grant",
    "Privileges of an account of MySQL or MariaDB.",
    properties={
        "ensure": _ENSURE,
        "privileges": "the privileges, as an array",
        "table": "what they hold for: *.*, database.*, database.table, or an account with PROXY",
        "user": "the account, user@host",
        "options": "GRANT or NONE",
    },
    parameters={"name": "user@host/table; the title if not given", "provider": _PROVIDER},
    relations=(_OPTION_FILE, AutoRelation("mysql_user", ("user",))),
    module="mysql",
)

MYSQL_DATABASE = ManagedType(
    "mysql_database",
    "A database of MySQL or MariaDB.",
    properties={
        "ensure": _ENSURE,
        "charset": "character set (utf8)",
        "collate": "collation (utf8_general_ci)",
    },
    parameters={"name": "the database's name; the title if not given", "provider": _PROVIDER},
    relations=(_OPTION_FILE,),
    module="mysql",
)

TYPES = (POSTGRESQL_PSQL, MYSQL_USER, MYSQL_GRANT, MYSQL_DATABASE)
