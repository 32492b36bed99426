"""Tables of jobs: one row for each job, its steps on nodes, and the output of commands."""
