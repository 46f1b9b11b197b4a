"""Retrieval: find and rank memories, compose context blocks, prime a session, and explore the entity graph."""
