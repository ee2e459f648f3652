"""OpenAI Responses, and everyone who speaks it."""
