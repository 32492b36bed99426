"""Users, grants and databases of MySQL and MariaDB."""
