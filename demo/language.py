"""The Puppet language: two nodes that share one catalog, what it depends on, and an error that says what to do."""

from pathlib import Path

from demo.stage import Stage

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ENVIRONMENT = EXAMPLES / "environment"
WRONG = "file { '/etc/motd':\n  contents => \"Welcome to ${facts['hostname']}\",\n}\n"


def show(stage: Stage) -> None:
    stage.title("The Puppet language: compiled once for all who answer alike")
    stage.run(*_compile("web1"), shown="compile --environment examples/environment --node web1.example.com --facts …")
    catalogs = {name: stage.ask(*_compile(name)) for name in ("web1", "web2")}
    versions = {catalog["version"] for catalog in catalogs.values()}
    stage.claim("web1 and web2 share one version: their names are only filled in when it is served", len(versions) == 1)
    reads = stage.ask(*_compile("web1"), "--trace")
    facts = [".".join(read["question"]["path"]) for read in reads if read["question"]["ask"] == "fact"]
    stage.claim(f"of all facts the catalog depends on one alone: {', '.join(facts)}", facts == ["os.family"])
    stage.run("eval", "[3, 1, 2].sort.map |$n| { $n * 2 }", shown="eval '[3, 1, 2].sort.map |$n| { $n * 2 }'")
    wrong = stage.directory / "wrong" / "manifests"
    wrong.mkdir(parents=True)
    (wrong / "site.pp").write_text(WRONG, encoding="utf-8")
    said = stage.refused("compile", "--environment", str(wrong.parent), "--node", "web1.example.com")
    stage.claim("a typo is found before any node sees it", "did you mean content?" in said)


def _compile(name: str) -> tuple[str, ...]:
    facts = EXAMPLES / f"facts-{name}.json"
    return ("compile", "--environment", str(ENVIRONMENT), "--node", f"{name}.example.com", "--facts", str(facts))
