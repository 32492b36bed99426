"""The composition root: the only package that constructs services and connects them to their adapters.

`root` has the operations that the command line calls. It imports the modules of a role only when the server has that role, so a
server with one role loads only what that role needs, and other commands load nothing of it. `supervision` runs several workers.
"""
