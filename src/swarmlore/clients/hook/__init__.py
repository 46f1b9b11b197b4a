"""What a client's hook runs: a payload in, one event out, an answer back. Starts in the time a bare interpreter needs.

Only the standard library, `text/` and `project.py`: whoever wants more is asked over a socket, or loaded after the
event is safe.
"""
