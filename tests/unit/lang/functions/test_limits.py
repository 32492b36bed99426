"""Calls with excessively large arguments fail quickly with an error of ours."""

import pytest

from tools.oracle import answer

DIGITS = "'" + "9" * 5_000 + "'"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (f"abs({DIGITS})", "LANG-465"),
        (f"ceiling({DIGITS})", "LANG-404"),
        ("floor('1e999')", "LANG-404"),
        (f"fqdn_rand({DIGITS})", "LANG-465"),
        (f"get([1], {DIGITS})", "LANG-465"),
        (f"scanf({DIGITS}, '%d')", "LANG-465"),
        ("unique(9223372036854775807)", "LANG-462"),
        ("9223372036854775807.each |$x| { }", "LANG-462"),
        ("*Integer[1, 99999999999].reverse_each", "LANG-462"),
        ("99999999999.step(1) |$x| { }", "LANG-462"),
    ],
)
def test_call_with_an_excessive_argument_is_refused(code: str, error: str) -> None:
    assert answer("expr", {"id": "limit", "source": code}).get("code") == error


def test_lazy_steps_over_a_huge_range_cost_nothing() -> None:
    code = "Integer[1, 9223372036854775807].step(9000000000000000000).map |$x| { $x }"
    assert answer("expr", {"id": "limit", "source": code})["expect"] == [1, 9000000000000000001]
