"""The tables of the first schema, one module for each feature.

`TABLES` holds the statements for both databases. `POSTGRESQL` and `SQLITE` hold the statements that only that database needs.
"""
