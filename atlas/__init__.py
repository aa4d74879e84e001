"""What Kafka clients do with what a broker can say: experiments, verdicts, and their map."""
