"""What only whole files of modules have, besides templates: commands, their own path, definitions inside of built-in modules."""

from typing import Any, ClassVar

import pytest

from precast.base.errors import PrecastError
from precast.lang.functions.ruby.code import read_code
from precast.lang.ruby.evaluation.frames import Frame
from precast.lang.ruby.execution import Execution


def run(code: str, kind: type[Execution] = Execution) -> Any:
    read = read_code("modules/m/lib/facter/x.rb", code, code)
    return read.body(Frame(kind(None, None, is_concrete=True), read.scope))  # type: ignore[arg-type]


class WithCommands(Execution):
    functions: ClassVar[Any] = {"`": lambda execution, args, block: f"ran {args[0]}"}
    class_methods: ClassVar[Any] = {"File": {"exist?": lambda execution, this, args, block: args[0] == "/here"}}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("`id`.upcase", "RAN ID"),
        ("x = 'a'\n`echo #{x} 'b'`", "ran echo a 'b'"),
        ("%x(ls (a)).sub('ran', 'did')", "did ls (a)"),
        ("`a` + `b`", "ran aran b"),
        ("File.exist?('/here') && !File.exist?('/there')", True),
    ],
)
def test_command_is_a_call_that_an_execution_can_answer(code: str, value: Any) -> None:
    assert run(code, WithCommands) == value


def test_command_is_refused_elsewhere() -> None:
    with pytest.raises(PrecastError, match="commands in backquotes") as caught:
        run("`id`")
    assert caught.value.code == "LANG-901"


@pytest.mark.parametrize(
    "code",
    [
        "module Facter::Util::Disks\n def self.count\n 2\n end\nend\nFacter::Util::Disks.count",
        "module Facter\n module Util\n module Disks\n def self.count\n 2\n end\n end\n end\nend\nFacter::Util::Disks.count",
        "class Facter::Util::Disks\n COUNT = 2\nend\nFacter::Util::Disks::COUNT",
        "module Facter::Util::Disks\n A = 1\nend\nmodule Facter::Util::Disks\n B = 1 + A\nend\nFacter::Util::Disks::B",
        "Disks = 9\nmodule Facter::Util::Disks\n N = 2\nend\nFacter::Util::Disks::N",
        "defined?(Facter::Util::Disks) ? 1 : 2",
    ],
)
def test_definition_inside_of_a_builtin_module_is_found_by_its_full_name(code: str) -> None:
    assert run(code) == 2


def test_octal_numbers_have_two_forms() -> None:
    assert run("[0o755, 0755, 0O7]") == [0o755, 0o755, 7]


def test_code_knows_its_own_path() -> None:
    assert run("[__FILE__, __dir__, File.basename(__FILE__)]") == [
        "modules/m/lib/facter/x.rb",
        "modules/m/lib/facter",
        "x.rb",
    ]


def test_status_of_the_last_command_is_nil_before_the_first() -> None:
    assert run("[$?, $CHILD_STATUS]") == [None, None]
