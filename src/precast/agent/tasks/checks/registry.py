"""Finds the test of each kind, and describes it for people."""

from precast.agent.tasks.catalogs import CatalogAccess
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.agent.tasks.step_commands import Command, run_in_step, shell
from precast.wire.jobs.programs import (
    AnyTest,
    CleanTest,
    CommandTest,
    FactTest,
    FileTest,
    HttpTest,
    ManifestWork,
    ResourceTest,
    TcpTest,
)


def run_test(context: TaskContext, test: AnyTest, access: CatalogAccess) -> StepOutcome:
    """Look once. Raises what the parts of the agent raise that are asked."""
    match test:
        case CommandTest():
            return run_in_step(context, Command(shell(test.cmd))).outcome
        case HttpTest() | TcpTest():
            from precast.agent.tasks.checks.network import check_http, check_tcp

            return check_http(context, test) if isinstance(test, HttpTest) else check_tcp(context, test)
        case FileTest() | FactTest():
            from precast.agent.tasks.checks.state import check_fact, check_file

            return check_file(context, test) if isinstance(test, FileTest) else check_fact(context, test)
        case ResourceTest():
            from precast.agent.tasks.checks.catalogs import check_resource

            return check_resource(context, test)
        case CleanTest():
            from precast.agent.tasks.checks.catalogs import check_clean

            return check_clean(context, test, access)


def describe_test(test: AnyTest) -> str:
    """What a test looks at, in a few words."""
    match test:
        case CommandTest():
            return f"command {test.cmd.splitlines()[0][:80] if test.cmd else ''}"
        case HttpTest():
            return f"http {test.url}"
        case TcpTest():
            return f"tcp {test.host}:{test.port}"
        case FileTest():
            return f"file {test.path}"
        case FactTest():
            return f"fact {test.fact}"
        case ResourceTest():
            return f"resource {test.type}[{test.title}]"
        case CleanTest():
            entry = test.work.entry if isinstance(test.work, ManifestWork) else ""
            return f"clean {entry or 'catalog'}"
