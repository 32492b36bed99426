"""The schema as a whole: its migrations, backups of all tables, and checks of a database."""
