"""The official conformance corpus, held against our consumer."""
