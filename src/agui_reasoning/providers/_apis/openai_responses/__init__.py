"""OpenAI Responses, and the vendors that use its format."""
