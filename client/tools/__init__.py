"""Command line tools in the habit of Kafka's own; they work on any Kafka cluster."""
