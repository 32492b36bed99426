"""The tests of tasks, by kind: each looks once, and says in one line why it fails."""
