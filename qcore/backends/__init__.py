"""Backends: places that run a plan. They do not know each other; ``loader`` opens one by its row."""
