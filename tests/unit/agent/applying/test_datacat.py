"""datacat: what fragments collect becomes a parameter of the target, before its handler is made."""

from pathlib import Path
from typing import Any

from precast.agent.applying.machine import Machine
from precast.agent.applying.plan import Plan, make_plan
from precast.base.clock import ManualClock
from precast.catalog.body import Body, ResourceData

TARGET = {"target_resource": "File[/srv/x]", "target_field": "content"}
FILE = ("File", "/srv/x", {"content": "to be replaced"})


def plan(tmp_path: Path, *resources: tuple[str, str, dict[str, Any]], sensitive: tuple[str, ...] = ()) -> Plan:
    made = tuple(
        ResourceData(kind, title, given, (), sensitive_parameters=("data",) if title in sensitive else ())
        for kind, title, given in resources
    )
    machine = Machine(str(tmp_path), str(tmp_path / "state"), ManualClock())
    return make_plan(Body(resources=made, edges=(), classes=(), tags=(), content={}), None, machine)


def content(planned: Plan) -> Any:
    return planned.resources["File[/srv/x]"].resource.get("content")


def fragment(title: str, data: Any, target: Any = "c", order: str = "50") -> tuple[str, str, dict[str, Any]]:
    return "Datacat_fragment", title, {"target": target, "data": data, "order": order}


def test_data_is_merged_in_order_and_rendered(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        FILE,
        (
            "Datacat_collector",
            "c",
            {**TARGET, "template_body": "<%= @data['a'].join(',') %> <%= @data['h']['y'] %>", "template": "t"},
        ),
        fragment("one", {"a": [1, 2], "h": {"x": 1, "y": 1}}),
        fragment("two", {"a": [3], "h": {"y": 2}}, target=["b", "c"], order="60"),
        fragment("early", {"a": [0]}, order="10"),
        fragment("other", {"a": [9]}, target="d"),
    )
    assert content(made) == "0,1,2,3 2"
    assert made.resources["File[/srv/x]"].problem is None


def test_one_key_of_further_collections_is_taken(tmp_path: Path) -> None:
    collector = {**TARGET, "source_key": "k", "collects": ["d"]}
    made = plan(tmp_path, FILE, ("Datacat_collector", "c", collector), fragment("one", {"k": "v"}, target="d"))
    assert content(made) == "v"


def test_secret_data_makes_the_parameter_secret(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        FILE,
        ("Datacat_collector", "c", {**TARGET, "source_key": "k"}),
        fragment("one", {"k": "v"}),
        sensitive=("one",),
    )
    assert made.resources["File[/srv/x]"].resource.secrets == {"content"}


def test_problem_is_that_of_the_collector(tmp_path: Path) -> None:
    for given, words in (
        ({**TARGET, "template_body": "<%= @data.nope %>"}, "nope"),
        ({**TARGET, "template_body": "<%= scope.function_md5(['x']) %>"}, ""),
        ({**TARGET, "target_resource": "File[/none]"}, "/none"),
        ({**TARGET, "source_key": "k", "collects": "bad"}, "has no data"),
    ):
        made = plan(tmp_path, FILE, ("Datacat_collector", "c", given), fragment("bad", "text", target="bad"))
        problem = made.resources["Datacat_collector[c]"].problem
        assert problem is not None
        assert words in str(problem)
        assert content(made) == "to be replaced"
