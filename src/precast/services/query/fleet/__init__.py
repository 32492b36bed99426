"""Answers the queries over the fleet that compiles ask, stores the answers, and decides upon their readers when one has changed."""
