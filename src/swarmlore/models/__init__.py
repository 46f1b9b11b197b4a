"""Embedders and writers, imported when used. The only room that may reach the network."""
