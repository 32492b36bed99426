"""Programs for working on Precast itself."""
