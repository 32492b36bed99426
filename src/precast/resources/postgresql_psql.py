"""postgresql_psql: an SQL command that psql runs, if its guards let it. Guards are queries; they count as true if they return a row.

The module's older versions run psql through a shell, and give passwords as variables that this shell puts into the SQL. Here no shell
runs: `$NAME` is replaced for the variables in `environment` and `connect_settings` alone, so that other dollar signs (in a SCRAM hash)
stay as they are.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from precast.base.scrubbing import REDACTED
from precast.resources import issues, issues_databases, properties
from precast.resources.contract import Change, CommandResult, DesiredResource, Handler, ManagedNode, State

_NOT_RUN = "notrun"
_SETTING = re.compile(r"(\w+)=(.+)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_SECRET_NAME = re.compile(r"PASS|SECRET", re.IGNORECASE)
# On the last line: since PostgreSQL 15, psql prints also what the statements before the query return.
_COUNT = re.compile(r"^\s*(\d+)\s*\Z", re.MULTILINE)


class PostgresqlPsql(Handler):
    can_refresh: ClassVar[bool] = True
    invalidates: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type=resource.type, root=node.root)
        self._command = str(resource.get("command", resource.get("name", resource.title)))
        self._is_late = properties.read_boolean(resource, "refreshonly")
        self._is_secret = properties.read_boolean(resource, "sensitive") or bool(resource.secrets)
        self._directory = str(resource.get("cwd", "/tmp"))  # noqa: S108 - the module's default
        if not self._directory.startswith("/"):
            raise properties.invalid_value(resource, "cwd", self._directory, "it is an absolute path")
        self._variables = self._read_variables()

    @property
    def secret_properties(self) -> frozenset[str]:
        return super().secret_properties | ({"command"} if self._is_secret else frozenset())

    @property
    def runs_user_commands(self) -> bool:
        return self.resource.get("onlyif") is not None or self.resource.get("unless") is not None

    def read(self) -> State:
        is_due = self._is_let() and not self._is_late
        return {"command": _NOT_RUN if is_due else self._command}

    def compare(self, state: State) -> Sequence[Change]:
        if state["command"] != _NOT_RUN or self._command == _NOT_RUN:
            return ()
        return (properties.make_change("command", _NOT_RUN, self._command),)

    def apply(self, change: Change) -> None:
        self._execute()

    def refresh(self) -> None:
        if self._is_let():
            self._execute()

    def _execute(self) -> None:
        result = self._run(self._command)
        if not result.is_success:
            raise issues_databases.SQL_FAILED.error(code=result.exit_code, output=self._shown(result.output))

    def _is_let(self) -> bool:
        """Whether both guards let the command run, evaluated in Puppet's order."""
        onlyif, unless = self.resource.get("onlyif"), self.resource.get("unless")
        if onlyif is not None and not self._finds_rows("onlyif", str(onlyif)):
            return False
        return unless is None or not self._finds_rows("unless", str(unless))

    def _finds_rows(self, name: str, query: str) -> bool:
        result = self._run(f"SELECT COUNT(*) FROM ({query}) count")  # noqa: S608 - the query is the catalog's
        if not result.is_success:
            raise issues_databases.GUARD_FAILED.error(
                name=name, code=result.exit_code, output=self._shown(result.output)
            )
        count = _COUNT.search(result.output)
        return count is not None and int(count[1]) > 0

    def _run(self, sql: str) -> CommandResult:
        resource = self.resource
        if (search_path := resource.get("search_path")) is not None:
            sql = f"set search_path to {','.join(properties.as_texts(search_path))}; {sql}"
        words = [str(resource.get("psql_path", "psql"))]
        for option, name in (("-d", "db"), ("-p", "port")):
            if resource.get(name) is not None:
                words += [option, str(resource.get(name))]
        return self.node.run(
            [*words, "-t", "-X", "-c", self._expand(sql)],
            environment=self._variables,
            directory=self._directory,
            user=str(resource.get("psql_user", "postgres")),
            group=str(resource.get("psql_group", "postgres")),
        )

    def _expand(self, sql: str) -> str:
        """The SQL with the values of the variables that the resource gives."""
        return _VARIABLE.sub(lambda match: self._variables.get(match[1] or match[2], match[0]), sql)

    def _read_variables(self) -> Mapping[str, str]:
        settings = self.resource.get("connect_settings", {})
        if not isinstance(settings, dict):
            raise properties.invalid_value(self.resource, "connect_settings", settings, "it is a hash of variables")
        variables = {str(name): str(value) for name, value in settings.items()}
        given: Any = self.resource.get("environment")
        for setting in properties.as_texts(given) if given is not None else ():
            match = _SETTING.fullmatch(setting)
            if match is None:
                name = setting.partition("=")[0]
                raise properties.invalid_value(self.resource, "environment", name, "it has the form NAME=value")
            if match[1] in variables:
                self.log("warning", f"Overriding environment setting '{match[1]}'")
            variables[match[1]] = match[2]
        return variables

    def _shown(self, output: str) -> str:
        """What psql printed, without secrets: an error quotes the SQL."""
        if self._is_secret:
            return REDACTED
        for name, value in self._variables.items():
            if _SECRET_NAME.search(name) and value:
                output = output.replace(value, REDACTED)
        return " ".join(output.split())
