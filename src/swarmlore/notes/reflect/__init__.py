"""Reflection on a session: scan it, classify lessons, propose changes to files, decide, write and count them."""
