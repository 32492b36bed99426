"""Every function that Puppet has is here, documented, and has rows of truth."""

from precast.lang.functions import library, registry
from tests.spec.lang.rows import HERE, read_rows

OURS = {"future", "futures"}  # Puppet has none of these
PUPPET_HAS = 104


def test_every_function_has_rows_of_truth() -> None:
    library.load()
    names = {name for name, _ in registry.functions()} - OURS
    asked = {name for row in read_rows(*(HERE / "functions").glob("*.jsonl")) for name in row["functions"]}
    assert len(names) == PUPPET_HAS
    assert names == asked & names


def test_every_function_says_what_it_does() -> None:
    library.load()
    assert [name for name, function in registry.functions() if len(function.documentation) < 10] == []
    assert [name for name, function in registry.functions() if not function.dispatches] == []


def test_every_signature_can_be_read() -> None:
    library.load()
    for _, function in registry.functions():
        for dispatch in function.dispatches:
            signature = dispatch.signature
            assert len(signature.types) == len(signature.parameters)
            assert (signature.block_type is None) == (signature.block_text == "")
