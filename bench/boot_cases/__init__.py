"""Parts of bench/boot.py: the metadata services, the data sources that ask them, and the modules."""
