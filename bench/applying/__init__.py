"""What bench/apply.py sets in place, and how it measures whoever does it."""
