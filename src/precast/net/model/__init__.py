"""The net as a value: its declarations, the compiled structure that runs, and its form as a plain place/transition net."""
