"""Exporters with their collector: code that real Puppet and Precast compile alike. No case needs a module."""

from typing import Any

Case = dict[str, Any]

_NOTE = "@@notify { \"from ${trusted['certname']}\": message => 'm', withpath => true }"
_PAIR = {"b.example": _NOTE, "c.example": _NOTE}
_DEFINE = 'define site(String $port, Boolean $on = true, $rest = undef) { notify { "${title}:${port}": message => "${on} ${rest}" } }'


def _case(name: str, code: str, exporters: dict[str, str] | None = None) -> Case:
    return {"id": name, "node": "a.example", "code": code, "exporters": _PAIR if exporters is None else exporters}


CASES = [
    _case("all", "Notify <<| |>>"),
    _case("none", "Notify <<| |>>", {}),
    _case("only-virtual", "Notify <| |>"),
    _case("own", "@@notify { 'own': } Notify <<| |>>"),
    _case("own-not-collected", "@@notify { 'own': message => 'x' } Notify <<| message == 'm' |>>"),
    _case("own-by-virtual-collector", "@@notify { 'own': } Notify <| title == 'own' |>"),
    _case("virtual-is-not-exported", "@notify { 'own': } Notify <<| |>>"),
    _case("title", "Notify <<| title == 'from b.example' |>>"),
    _case("not-title", "Notify <<| title != 'from b.example' |>>"),
    _case("parameter", "Notify <<| message == 'm' |>>"),
    _case("not-parameter", "Notify <<| message != 'm' |>>"),
    _case("boolean", "Notify <<| withpath == true |>>"),
    _case("nested", "Notify <<| (title == 'from b.example' or title == 'from c.example') and message == 'm' |>>"),
    _case("tag-of-class", "Notify <<| tag == 'web' |>>", {"b.example": f"class web {{ {_NOTE} }} include web", "c.example": _NOTE}),
    _case("tag-parameter", "Notify <<| tag == 'One' |>>", {"b.example": "@@notify { 'x': tag => ['one', 'two'] }"}),
    _case("not-tag", "Notify <<| tag != 'one' |>>", {"b.example": "@@notify { ['x', 'y']: } Notify['x'] { tag => 'one' }"}),
    _case("variable", "$who = 'from b.example' Notify <<| title == $who |>>"),
    _case("inside-class", "class mon { Notify <<| |>> } include mon"),
    _case("inside-define", "define d { Notify <<| title == \"from ${title}\" |>> } d { 'b.example': }"),
    _case("defaults", "Notify { loglevel => 'info', message => 'unused' } Notify <<| |>>"),
    _case("defaults-of-class", "class mon { Notify { loglevel => 'info' } Notify <<| |>> } include mon notify { 'other': }"),
    _case("override", "Notify <<| |>> { message => 'other', loglevel => 'info' }"),
    _case("override-own-and-others", "class mon { @@notify { 'own': message => 'o' } Notify <<| |>> { message => 'all' } } include mon"),
    _case("override-adds", "Notify <<| |>> { tag +> 'more' }", {"b.example": "@@notify { 'x': tag => 'one' }"}),
    _case("override-require", "notify { 'first': } Notify <<| |>> { require => Notify['first'] }"),
    _case("relation-of-exporter", "notify { 'first': } Notify <<| |>>", {"b.example": "notify { 'first': } @@notify { 'x': require => Notify['first'] }"}),
    _case("relation-missing", "Notify <<| |>>", {"b.example": "notify { 'first': } @@notify { 'x': require => Notify['first'] }"}),
    _case("relations-of-exporter", "notify { ['p', 'q']: } Notify <<| title == 'x' |>>",
          {"b.example": "notify { ['p', 'q']: } @@notify { 'x': before => [Notify['p'], Notify['q']] }"}),
    _case("arrow", "notify { 'first': } -> Notify <<| |>> -> notify { 'last': }"),
    _case("arrow-without-match", "notify { 'first': } -> Notify <<| title == 'nothing' |>> -> notify { 'last': }"),
    _case("twice", "Notify <<| |>> Notify <<| |>>"),
    _case("second-overrides-nothing", "Notify <<| |>> Notify <<| title == 'from b.example' |>> { message => 'second' }"),
    _case("second-overrides-own", "@@notify { 'own': } Notify <<| |>> Notify <<| title == 'own' |>> { message => 'second' }"),
    _case("then-virtual-collector", "Notify <<| |>> Notify <| |> { loglevel => 'info' }"),
    _case("duplicate-of-own", "notify { 'from b.example': } Notify <<| |>>"),
    _case("duplicate-of-own-export", "@@notify { 'from b.example': } Notify <<| |>>"),
    _case("duplicate-of-virtual", "@notify { 'from b.example': } Notify <<| |>>"),
    _case("duplicate-of-two-nodes", "Notify <<| |>>", {"b.example": "@@notify { 'x': }", "c.example": "@@notify { 'x': }"}),
    _case("duplicate-left-out", "Notify <<| message == 'b' |>>", {"b.example": "@@notify { 'x': message => 'b' }", "c.example": "@@notify { 'x': message => 'c' }"}),
    _case("own-node-left-out", "Notify <<| |>>", {"a.example": _NOTE, "b.example": _NOTE}),
    _case("define", f"{_DEFINE} Site <<| |>>", {"b.example": f"{_DEFINE} @@site {{ 'x': port => '80', rest => {{ 'k' => [1, 2.5, true] }} }}"}),
    _case("define-override", f"{_DEFINE} Site <<| |>> {{ on => false }}", {"b.example": f"{_DEFINE} @@site {{ 'x': port => '80' }}"}),
    _case("define-of-defines", f"{_DEFINE} define twin {{ site {{ $title: port => '1' }} }} class mon {{ Twin <<| |>> }} include mon",
          {"b.example": "define twin {} @@twin { 't': tag => 'q' }"}),
    _case("define-mismatch", f"{_DEFINE} Site <<| |>>", {"b.example": "define site($port) {} @@site { 'x': port => 80 }"}),
    _case("define-collects-in-turn", f"{_DEFINE} define outer {{ Notify <<| |>> }} Outer <<| |>>",
          {"b.example": "define outer {} @@outer { 'o': }", "c.example": _NOTE}),
    _case("create-resources", "Notify <<| |>>", {"b.example": "create_resources('@@notify', { 'x' => { message => 'y' }, 'z' => {} })"}),
    _case("metaparameters-of-class", "Notify <<| |>>", {"b.example": f"class web {{ {_NOTE} }} class {{ 'web': noop => true, schedule => 'never' }}"}),
    _case("metaparameters-of-collector", "class mon { Notify <<| |>> } class { 'mon': noop => true }"),
    _case("values", "Notify <<| |>>",
          {"b.example": "@@notify { 'x': message => { 'a' => [1, 2.5, undef, true, 'é'], 'b' => {} } }"}),
    _case("realize", "Notify <<| title == 'from c.example' |>> realize Notify['from c.example']"),
    _case("override-by-reference", "Notify <<| |>> Notify['from b.example'] { loglevel => 'info' }"),
    _case("override-taken-parameter", "Notify <<| |>> Notify['from b.example'] { message => 'mine' }"),
    _case("class-parameter", "class mon($n) { notify { \"n${n}\": } } class { 'mon': n => defined(Notify['from b.example']) } Notify <<| |>>"),
    _case("unknown-type", "Nonexist <<| |>>"),
    _case("classes", "Class <<| |>>"),
    _case("number-and-text", "Notify <<| message == 5 |>>", {"b.example": "@@notify { 'x': message => 5 } @@notify { 'y': message => '5' }"}),
    _case("reference", "notify { 'first': } Notify <<| require == Notify['first'] |>>",
          {"b.example": "notify { 'first': } @@notify { 'x': require => Notify['first'] } @@notify { 'y': }"}),
    _case("undef", "Notify <<| message == undef |>>", {"b.example": "@@notify { 'x': } @@notify { 'y': message => 'z' }"}),
    _case("aliases", "file { '/x': } File <<| |>>", {"b.example": "@@file { 'f': path => '/x' }"}),
    _case("stage", "Notify <<| |>>", {"b.example": "stage { 'late': } class web { @@notify { 'x': } } class { 'web': stage => 'late' }"}),
]  # fmt: skip
