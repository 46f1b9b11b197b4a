"""Embedders and LLMs, imported when used. Apart from the remote client, only this package makes network requests."""
