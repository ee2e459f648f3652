"""OpenAI Chat Completions, and everything shaped like it."""
