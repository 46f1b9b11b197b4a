"""The graph with a language model: what notes speak of, how that is connected, and what belongs together, in words."""
