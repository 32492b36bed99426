"""Errors of databases and message brokers. Codes 200 to 219."""

from precast.base.errors import Issue, Kind

SQL_FAILED = Issue(
    "RESOURCE-200",
    Kind.UNAVAILABLE,
    "Error executing SQL; psql returned {code}: '{output}'",
    "run the SQL by hand as the same user to see more",
)
GUARD_FAILED = Issue(
    "RESOURCE-201",
    Kind.UNAVAILABLE,
    "Error evaluating '{name}' clause, returned {code}: '{output}'",
    "check that the server runs, and that the query is valid: it becomes a part of SELECT COUNT(*) FROM (…)",
)
MYSQL_FAILED = Issue(
    "RESOURCE-202",
    Kind.UNAVAILABLE,
    "`mysql` ended with {code}: {output}",
    "check that the server runs and that root can connect: ~/.my.cnf says how",
)
NO_NATIVE_HASH = Issue(
    "RESOURCE-203",
    Kind.INPUT,
    "the password_hash of {user} is no hash of mysql_native_password (*ABCD…)",
    "make it with mysql::password, or give plugin for another kind of hash",
)
