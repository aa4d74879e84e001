"""The append path of Produce: validate a record batch and append it to a partition."""
