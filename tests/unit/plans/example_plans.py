"""A plan of ten tasks that has one of everything, its nodes, and short ways to write others."""

from typing import Any

from precast.plans.model import Condition, CrossDependency, Plan, PlanGroup, PlanNode, PlanTask, Position
from precast.wire.jobs.programs import CommandTest, HttpTest, TcpTest


def task(name: str, kind: str = "manifest", line: int = 1, **fields: Any) -> PlanTask:
    return PlanTask(name, kind, Position("web.yaml", line, 3), **fields)  # type: ignore[arg-type]


def across(name: str, *roles: str, is_any: bool = False) -> CrossDependency:
    return CrossDependency(name, roles or ("*",), "any" if is_any else "all")


def plan_of(*tasks: PlanTask, groups: tuple[PlanGroup, ...] = (), name: str = "p") -> Plan:
    return Plan(name, tasks, groups)


SHOP = Plan(
    "web-shop",
    (
        task("start", "stage", 1),
        task("end", "stage", 2, requires=("start",)),
        task(
            "netconfig",
            line=5,
            selectors=("*",),
            requires=("start",),
            required_for=("end",),
            test_post=(CommandTest(cmd="ping -c1 gateway"),),
        ),
        task(
            "database",
            line=10,
            selectors=("db",),
            requires=("netconfig",),
            required_for=("end",),
            test_pre=(CommandTest(cmd="test -d /var/lib/mysql"), TcpTest(port=3306)),
            test_post=(TcpTest(port=3306),),
            at_once=1,
            parameters={"puppet_manifest": "/etc/puppet/db.pp", "puppet_modules": "/etc/puppet/modules"},
        ),
        task("upload", "upload_file", 20, selectors=("master",), requires=("start",)),
        task("copy", "copy_files", 30, selectors=("web",), cross_depends=(across("upload", "master"),)),
        task(
            "web",
            line=40,
            selectors=("web",),
            requires=("netconfig", "copy"),
            required_for=("end",),
            cross_depends=(across("database", "db", is_any=True),),
            at_once_percent=50,
            has_canary=True,
            test_post=(HttpTest(url="http://localhost/"),),
        ),
        task("balancer", line=50, selectors=("web",), required_for=("end",), cross_depends=(across("web", "web"),)),
        task("smoke", "shell", 60, selectors=("master",), requires=("end",), approval="Is it switched?"),
        task(
            "clean-up",
            "shell",
            70,
            selectors=("*",),
            cross_depends=(across("smoke", "master"),),
            is_always=True,
            condition=Condition("$.cleans"),
        ),
    ),
    (PlanGroup("web", Position("web.yaml", 80, 3), ("web",), fault_tolerance="50%"),),
)
SHOP_NODES = [
    PlanNode("boss", ("admin",), is_master=True),
    PlanNode("db1", ("db",)),
    PlanNode("db2", ("db",)),
    PlanNode("web1", ("web",)),
    PlanNode("web2", ("web",)),
    PlanNode("web3", ("web",)),
]
