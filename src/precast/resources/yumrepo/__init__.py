"""yumrepo: repositories of yum and dnf. `repository_files` reads and edits the files, `handler` decides."""
