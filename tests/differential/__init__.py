"""Compare the answers of Apache Kafka and of our broker to the same conversations."""
