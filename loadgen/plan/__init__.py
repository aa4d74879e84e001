"""Load plans: parse them, and compute when each event is due."""
