"""Parameters of commands: typed values that replace their name within one argument."""

import pytest

from precast.base.errors import InputError
from precast.services.actions.parameters import fill_in
from precast.wire.actions.bodies import Parameter


def test_arguments_without_parameters_stay_as_they_are() -> None:
    argv = ["awk", "{print $1}", "{name}"]
    assert fill_in(argv, {}) == argv


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        (Parameter("a b;c"), "a b;c"),
        (Parameter(""), ""),
        (Parameter("-007", "integer"), "-7"),
        (Parameter("YES", "boolean"), "true"),
        (Parameter("0", "boolean"), "false"),
        (Parameter("b", "choice", ["a", "b"]), "b"),
        (Parameter("{other}"), "{other}"),
    ],
)
def test_value_replaces_its_name_within_one_argument(parameter: Parameter, text: str) -> None:
    assert fill_in(["do", "--x={value}!", "{value}{value}"], {"value": parameter}) == ["do", f"--x={text}!", text * 2]


@pytest.mark.parametrize(
    ("argv", "parameters", "reason"),
    [
        (["{n}"], {"n": Parameter("1.5", "integer")}, "is not an integer"),
        (["{n}"], {"n": Parameter("9" * 19, "integer")}, "is not an integer"),
        (["{n}"], {"n": Parameter("maybe", "boolean")}, "neither true nor false"),
        (["{n}"], {"n": Parameter("c", "choice", ["a", "b"])}, "none of a, b"),
        (["{n}", "{m}"], {"n": Parameter("1")}, "it has no value"),
        (["{n}"], {"n": Parameter("1"), "m": Parameter("2")}, "no argument of the command uses it"),
        (["{N}"], {"N": Parameter("1")}, "a name consists of"),
    ],
)
def test_invalid_parameters_are_refused(argv: list[str], parameters: dict[str, Parameter], reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        fill_in(argv, parameters)
    assert caught.value.code == "ACTION-006"
