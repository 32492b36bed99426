"""The composition root: the only place that joins services to adapters. One module for each room of a server.

`root` says what the command line can ask for; it imports a room when somebody asks for it. So a server with one role loads what that
role needs, and every other command loads none of this.
"""
