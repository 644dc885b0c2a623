"""Presenters: a state in, what a widget draws out. Plain rows, arrays and texts; no Qt."""
