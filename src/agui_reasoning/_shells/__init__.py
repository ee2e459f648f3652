"""What the shells share: opening sources, driving a run, telling what failed."""
