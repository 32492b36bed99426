"""The roles of a server process: api, compiler, scheduler."""
