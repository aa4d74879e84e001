"""What the rows of a run show: summary, checks, charts and report."""
