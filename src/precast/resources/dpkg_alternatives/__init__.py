"""The types of the module alternatives for dpkg: `alternatives` chooses a program, `alternative_entry` registers one."""
