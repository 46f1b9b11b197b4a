"""The command line: one module per command, each parses, calls one method of `Lore`, and renders.

`commands` lists them, `parsing` builds the parser of the one that is asked for, `desk` is where a command meets its
user. Modules are imported when their command runs: a small command starts in little more than Python's own time.
"""
