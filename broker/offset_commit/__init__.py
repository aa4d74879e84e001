"""OffsetCommits that equal earlier ones of their connection, except for the offsets."""
