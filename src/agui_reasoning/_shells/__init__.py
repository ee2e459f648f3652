"""Shared by the shells: opening sources, driving a run, reporting failures."""
