"""Compare runs: what changed for each tenant and API, with confidence intervals over seeds."""
