"""Run the official conformance corpus against the consumer."""
