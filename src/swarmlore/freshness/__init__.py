"""Cited code, held against the working tree: is it still as it was when a memory cited it?"""
