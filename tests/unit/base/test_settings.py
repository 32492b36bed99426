"""Settings: the origins of values, and the errors for invalid ones."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar

import pytest

from precast.base import setting_values as values
from precast.base.errors import PrecastError
from precast.base.settings import Area, LoadedSettings, Setting, Settings, declared, load, unknown_variables


class Sample(Settings, frozen=True):
    """One setting of each type."""

    area: ClassVar[Area] = Area("sample", "PRECAST_SAMPLE_", lambda _: Path("/etc/sample.toml"))

    place: Annotated[Path, Setting("a path", "DIR")] = Path("/var")
    names: Annotated[tuple[str, ...], Setting("several", flag="--name")] = ()
    count: Annotated[int, Setting("a number", read=values.within(values.read_number, 1, 9))] = 3
    is_on: Annotated[bool, Setting("truth")] = False
    every: Annotated[timedelta, Setting("a duration")] = timedelta(minutes=30)
    room: Annotated[int, Setting("a size", read=values.read_size)] = 1000
    level: Annotated[str, Setting("a word", read=values.one_of("low", "high"))] = "low"
    token: Annotated[str, Setting("a secret", flag="-", is_secret=True)] = ""


def write(directory: Path, text: str, mode: int = 0o600) -> Path:
    path = directory / "sample.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def loaded(file: Path | None = None, root: Path = Path("/nowhere"), **variables: str) -> LoadedSettings[Sample]:
    return load(Sample, {}, variables, file=file, root=root)


def refusal(file: Path | None = None, flags: dict[str, object] | None = None, **variables: str) -> PrecastError:
    with pytest.raises(PrecastError) as caught:
        load(Sample, flags or {}, variables, file=file, root=Path("/nowhere"))
    return caught.value


def test_nothing_given_leaves_the_defaults_and_says_so() -> None:
    found = loaded()
    assert found.values == Sample()
    assert set(found.origins.values()) == {"default"}


def test_every_type_reads_alike_from_file_and_environment(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    write(
        tmp_path / "etc",
        'place = "/x"\nnames = ["a", "b"]\ncount = 5\nis_on = true\nevery = "12h"\nroom = "2KiB"\nlevel = "high"\ntoken = "t"\n',
    )
    by_file = loaded(root=tmp_path)
    by_variable = loaded(
        PRECAST_SAMPLE_PLACE="/x",
        PRECAST_SAMPLE_NAMES="a, b",
        PRECAST_SAMPLE_COUNT="5",
        PRECAST_SAMPLE_IS_ON="yes",
        PRECAST_SAMPLE_EVERY="12h",
        PRECAST_SAMPLE_ROOM="2KiB",
        PRECAST_SAMPLE_LEVEL="high",
        PRECAST_SAMPLE_TOKEN="t",
    )
    assert by_file.values == by_variable.values
    assert by_file.values == Sample(Path("/x"), ("a", "b"), 5, True, timedelta(hours=12), 2048, "high", "t")
    assert by_file.origins["count"] == f"{tmp_path}/etc/sample.toml:3"
    assert by_variable.origins["count"] == "PRECAST_SAMPLE_COUNT"


def test_flag_wins_over_variable_over_file(tmp_path: Path) -> None:
    file = write(tmp_path, "count = 4\n")
    assert loaded(file).values.count == 4
    assert loaded(file, PRECAST_SAMPLE_COUNT="5").values.count == 5
    found = load(Sample, {"count": "6"}, {"PRECAST_SAMPLE_COUNT": "5"}, file=file)
    assert (found.values.count, found.origins["count"]) == (6, "--count")


def test_empty_variable_is_none(tmp_path: Path) -> None:
    assert loaded(write(tmp_path, "count = 4\n"), PRECAST_SAMPLE_COUNT="").values.count == 4


def test_setting_without_a_flag_takes_none_from_a_positional_of_that_name() -> None:
    assert load(Sample, {"token": "x"}, {}, root=Path("/nowhere")).values.token == ""


def test_unknown_key_is_refused_with_the_nearest_and_without_its_value(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, '# mine\ntokn = "geheim"\n'))
    assert error.code == "CONFIG-004"
    assert error.message == "tokn is not a setting; did you mean token?"
    assert f"{tmp_path}/sample.toml:2:1" in error.render()
    assert "geheim" not in error.render()


@pytest.mark.parametrize("text", ["[limits]\nx = 1\n", "limits.x = 1\n", '"odd key" = 1\n'])
def test_table_or_quoted_key_is_an_unknown_key_like_another(tmp_path: Path, text: str) -> None:
    assert refusal(write(tmp_path, text)).code == "CONFIG-004"


@pytest.mark.parametrize("text", ["token = geheim\n", "count = \n", "= 1", "count = 1\ncount = 2\n", "\x00"])
def test_file_that_is_no_toml_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    error = refusal(write(tmp_path, text))
    assert error.code == "CONFIG-003"
    assert "geheim" not in error.render()
    assert "sample.toml" in error.render()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('count = "x"', "a whole number"),
        ("count = true", "a whole number"),
        ("count = 10", "from 1 to 9"),
        ("count = 0", "from 1 to 9"),
        ("place = 1", "a path"),
        ('place = ""', "a path"),
        ("names = 1", "a list"),
        ("names = [1]", "a text"),
        ('is_on = "perhaps"', "true or false"),
        ("every = 30", "a duration"),
        ('every = "-1s"', "a duration"),
        ('room = "much"', "a size"),
        ('level = "middling"', "one of low, high"),
        ("token = 1", "a text"),
        ('token = "a\\u0000b"', "a text"),
    ],
)
def test_value_that_does_not_fit_is_refused_where_it_stands(tmp_path: Path, text: str, wanted: str) -> None:
    error = refusal(write(tmp_path, text))
    assert error.code == "CONFIG-005"
    assert wanted in error.message
    assert "sample.toml:1:1" in error.render()


def test_secret_that_does_not_fit_is_not_repeated(tmp_path: Path) -> None:
    assert "geheim" not in refusal(write(tmp_path, 'token = ["geheim"]')).render()
    assert "geheim" not in refusal(PRECAST_SAMPLE_TOKEN="geheim\n").render()


def test_bad_variable_and_bad_flag_are_named() -> None:
    assert refusal(PRECAST_SAMPLE_COUNT="ten").message == "PRECAST_SAMPLE_COUNT: 'ten' is not a whole number"
    assert refusal(flags={"names": 5}).message == "--name: 5 is not a list"


def test_named_file_must_exist_and_the_usual_one_need_not(tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing.toml").code == "CONFIG-001"
    assert refusal(tmp_path).code == "CONFIG-001"
    loaded(root=tmp_path)


def test_file_with_a_secret_is_refused_if_others_may_read_it(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, 'token = "t"', 0o644))
    assert (error.code, error.hint) == ("CONFIG-002", f"chmod 640 {tmp_path}/sample.toml")
    assert loaded(write(tmp_path, 'token = "t"', 0o640)).values.token == "t"
    assert loaded(write(tmp_path, "count = 2", 0o644)).values.count == 2


def test_rows_show_every_setting_and_no_secret(tmp_path: Path) -> None:
    rows = {name: (value, origin) for name, value, origin in loaded(write(tmp_path, 'token = "geheim"')).rows()}
    assert rows["token"] == ("(set, not shown)", f"{tmp_path}/sample.toml:1")
    assert rows["every"] == ("30m", "default")
    assert list(rows) == [setting.name for setting in declared(Sample)]


def test_strange_variable_is_named_with_the_nearest_and_never_an_error() -> None:
    environment = {
        "PRECAST_SAMPLE_COUT": "1",
        "PRECAST_PORT": "tcp://10.0.0.1",
        "PRECAST_SAMPLE_LEVEL": "low",
        "X": "y",
    }
    assert unknown_variables([Sample], environment, {"PRECAST_DEBUG"}) == [
        "PRECAST_PORT is not a setting",
        "PRECAST_SAMPLE_COUT is not a setting; did you mean PRECAST_SAMPLE_COUNT?",
    ]


@pytest.mark.parametrize("shown", ["0s", "90s", "30m", "12h", "7d"])
def test_duration_is_shown_as_it_is_written(shown: str) -> None:
    assert values.show(values.read_duration(shown)) == shown


def test_file_that_other_users_may_change_is_refused(tmp_path: Path) -> None:
    error = refusal(write(tmp_path, "count = 2", 0o646))
    assert (error.code, error.hint) == ("CONFIG-006", f"chmod go-w {tmp_path}/sample.toml")
    if os.geteuid() == 0:
        assert refusal(write(tmp_path, "count = 2", 0o664)).code == "CONFIG-006"
