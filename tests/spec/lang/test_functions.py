"""Every function of Puppet and of the supported modules exists, is documented, and has specification rows."""

from collections import Counter

from precast.lang.functions import library, registry
from precast.lang.functions.modules import library as modules
from precast.lang.functions.modules.declaration import ModuleFunction
from tests.spec.lang.rows import HERE, OF_MODULES, read_rows

OURS = {"future", "futures", "precast::secret", "puppetdb_query"}  # functions that Puppet alone does not have
PUPPET_FUNCTIONS = 104
MIN_ROWS = 3


def test_every_function_has_specification_rows() -> None:
    library.load()
    names = {name for name, _ in registry.functions()} - OURS
    asked = {name for row in read_rows(*(HERE / "functions").glob("*.jsonl")) for name in row["functions"]}
    assert len(names) == PUPPET_FUNCTIONS
    assert names == asked & names


def test_every_function_of_a_module_has_specification_rows() -> None:
    """The namespaced functions are newer than the modules that the oracle can run, and have unit tests instead."""
    asked = Counter(name for row in read_rows(*OF_MODULES) for name in row["functions"])
    names = [name for file, names in modules.FILES.items() if file != "namespaced" for name in names.split()]
    assert [name for name in names if asked[name] < MIN_ROWS] == []


def test_every_function_of_a_module_is_in_the_table() -> None:
    named = [name for name, _ in modules.functions() if name not in modules.RENAMED]
    assert named == sorted(ModuleFunction._known)
    library.load()
    assert [name for name in named if registry.find(name) is not None] == []


def test_every_function_says_what_it_does() -> None:
    library.load()
    all_functions = [*registry.functions(), *modules.functions()]
    assert [name for name, function in all_functions if len(function.documentation) < 10] == []
    assert [name for name, function in all_functions if not function.dispatches] == []


def test_every_signature_can_be_read() -> None:
    library.load()
    for _, function in [*registry.functions(), *modules.functions()]:
        for dispatch in function.dispatches:
            signature = dispatch.signature
            assert len(signature.types) == len(signature.parameters)
            assert (signature.block_type is None) == (signature.block_text == "")
