"""Load for a Kafka cluster from PySpark: plans, schedules, workers, results, reports."""
