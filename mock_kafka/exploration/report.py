"""What people read of a finding."""

import json

from mock_kafka.exploration.search import Finding


def describe(finding: Finding) -> str:
    """Return a finding for people: the rules, how it failed, how often it repeated, the seed."""
    rules = "".join(f"    {json.dumps(rule)},\n" for rule in finding.rules)
    lines = [
        finding.outcome.report,
        f"with these fault rules, drawn from seed {finding.seed} in run {finding.run}:",
        f"[\n{rules}]" if rules else "without any: it fails sometimes, whatever the faults are",
        f"repeated: {finding.repeats}",
    ]
    if finding.rules != finding.drawn:
        lines.append(
            f"shrunk in {finding.shrink_runs} runs from {len(finding.drawn)} rules, which"
            f" {finding.drawn_repeats}"
        )
    return "\n".join(lines)
