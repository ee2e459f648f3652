"""A toy API, the template of new ones: its module, its rows, and what the demo plays."""
