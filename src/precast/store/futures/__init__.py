"""The stored state of futures: what catalogs promise and need, standing values, promises of jobs, and who waits."""
