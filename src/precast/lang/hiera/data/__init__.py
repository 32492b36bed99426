"""The data of Hiera: reads YAML, JSON and eyaml files key by key, and calls data functions."""
