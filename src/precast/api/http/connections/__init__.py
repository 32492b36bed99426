"""Connections before anybody has said who they are: where they come from, how many of them there may be, and whose turn it is."""
