"""Code: environments and their versions, stored content, git repositories, modules, deploy hooks."""
