"""Formatting of results for people, one module for each group of commands."""
