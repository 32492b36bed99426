"""The works of tasks over files and their content: write, collect, copy, synchronise; and the files of the environment that tasks run."""
