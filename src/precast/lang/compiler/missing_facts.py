"""Finds facts that the code read, the node does not have, and a module of the environment adds in a way in which nodes do not read them.

Most absent facts are just absent: nodes read the Ruby facts of modules, and most have no value on most nodes. But if a fact needs more of
Ruby than nodes run, is in the facts.d of a module, or was not read yet, the module's code relies on it, and without it takes a branch that
its author did not intend for this node. All of it follows from the trace: the nodes that share a leaf lack the same facts.
"""

from precast.base.errors import PrecastError
from precast.lang.inputs import ABSENT, FactAbsent, FactKeys, FactKind, FactPath, Inputs, ModuleFact, Path, Read
from precast.lang.issues import compiler as issues

# The fact of a node that has read the Ruby facts of modules.
FACTS_READ = "precast_module_facts"


def find_missing_facts(inputs: Inputs, module_path: tuple[str, ...]) -> list[PrecastError]:
    """An error for each of these facts, in the order in which the code read them."""
    errors: dict[str, PrecastError] = {}
    for path in [path for read in inputs.trace if (path := _absent_path(read))]:
        name = str(path[0])
        if name in errors:
            continue
        if len(path) > 1 and not inputs.ask(FactAbsent(name)):
            continue
        file, is_refused = inputs.ask(ModuleFact(name, module_path)), True
        if file is ABSENT and inputs.ask(FactAbsent(FACTS_READ)):
            file, is_refused = inputs.ask(ModuleFact(name, module_path, has_unread=True)), False
        if file is not ABSENT:
            errors[name] = _explain(name, str(file), module_path, is_refused=is_refused)
    return list(errors.values())


def _absent_path(read: Read) -> Path | None:
    """The path of a fact that the code read and that does not exist."""
    match read.question:
        case FactPath(path) | FactKeys(path):
            return path if read.answer is ABSENT else None
        case FactKind(path):
            return path if read.answer == "absent" else None
    return None


def _explain(name: str, path: str, module_path: tuple[str, ...], *, is_refused: bool) -> PrecastError:
    root = next(root for root in module_path if path.startswith(f"{root}/"))
    module = path.removeprefix(f"{root}/").partition("/")[0]
    is_ruby = path.endswith(".rb")
    external = "nodes read no facts.d of modules: put the file into /etc/precast/facts.d on the node"
    ruby = f"the fact needs more of Ruby than nodes run (`precast env facts` says what): write {root}/{module}/precast/facts/{name}.py"
    if not is_refused:
        ruby = "the node has not read the facts of modules yet: it does so with its next facts, after it has fetched a catalog"
    replacement = ruby if is_ruby else external
    return issues.MISSING_MODULE_FACT.error(name=name, path=path, replacement=replacement)
