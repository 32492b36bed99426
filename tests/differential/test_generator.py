"""Generated environments: the same for a seed, others for another, and complete."""

import yaml  # type: ignore[import-untyped]

from lab.differential import environment, features, subjects

NUMBERS = range(40)


def test_a_seed_makes_the_same_environments(puppet_and_modules: None) -> None:
    assert [environment.generate(each) for each in NUMBERS[:5]] == [environment.generate(each) for each in NUMBERS[:5]]
    assert environment.generate(0).files != environment.generate(0, seed=1).files


def test_environments_use_every_subject_and_feature(puppet_and_modules: None) -> None:
    used = {path for number in range(len(subjects.table())) for path in environment.generate(number).files}
    for name in [*subjects.table(), *features.MAKERS]:
        assert f"modules/profile/manifests/{name}.pp" in used


def test_environments_have_three_layers_and_five_systems(puppet_and_modules: None) -> None:
    for number in NUMBERS:
        made = environment.generate(number)
        layers = yaml.safe_load(made.files["hiera.yaml"])["hierarchy"]
        places = [path for layer in layers for path in _places(layer)]
        assert len(places) >= 3
        assert len({each.facts["os"]["name"] for each in made.machines}) == 5
        assert len({each.certname for each in made.machines}) == 5


def _places(layer: dict[str, object]) -> list[object]:
    found = layer.get("path") or layer.get("paths") or layer.get("globs") or layer.get("mapped_paths")
    return found if isinstance(found, list) else [found]
