"""augeas: configuration files as trees. `library` is libaugeas, `commands` and `conditions` are what manifests say, `handler` decides."""
