"""The Puppet language: two nodes share one compiled catalog, its dependencies are known, and an error carries a hint."""

from pathlib import Path

from demo.presenter import Presenter

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ENVIRONMENT = EXAMPLES / "environment"
WRONG = "file { '/etc/motd':\n  contents => \"Welcome to ${facts['hostname']}\",\n}\n"


def show(presenter: Presenter) -> None:
    presenter.title("The Puppet language: one compile for all nodes with the same answers")
    presenter.run(
        *_compile("web1"), shown="compile --environment examples/environment --node web1.example.com --facts …"
    )
    catalogs = {name: presenter.ask(*_compile(name)) for name in ("web1", "web2")}
    versions = {catalog["version"] for catalog in catalogs.values()}
    presenter.claim(
        "web1 and web2 share one version: the server fills in their names when it serves the catalog",
        len(versions) == 1,
    )
    reads = presenter.ask(*_compile("web1"), "--trace")
    facts = [".".join(read["question"]["path"]) for read in reads if read["question"]["ask"] == "fact"]
    presenter.claim(f"the catalog depends on only one of all facts: {', '.join(facts)}", facts == ["os.family"])
    presenter.run("eval", "[3, 1, 2].sort.map |$n| { $n * 2 }", shown="eval '[3, 1, 2].sort.map |$n| { $n * 2 }'")
    wrong = presenter.directory / "wrong" / "manifests"
    wrong.mkdir(parents=True)
    (wrong / "site.pp").write_text(WRONG, encoding="utf-8")
    error = presenter.refused("compile", "--environment", str(wrong.parent), "--node", "web1.example.com")
    presenter.claim("the compiler finds a typo before the code reaches a node", "did you mean content?" in error)


def _compile(name: str) -> tuple[str, ...]:
    facts = EXAMPLES / f"facts-{name}.json"
    return ("compile", "--environment", str(ENVIRONMENT), "--node", f"{name}.example.com", "--facts", str(facts))
