"""Settings of configuration files that modules declare as types of their own; `types.config_files` describes the family."""
