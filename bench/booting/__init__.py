"""Parts of bench/boot.py: the services that are there or not, the sources over them, and the modules."""
