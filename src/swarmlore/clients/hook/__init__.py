"""Capture path of a client's hook: read a payload, make one event, deliver it, print the answer.

It starts in the time a bare interpreter needs, so it imports only the standard library and small modules of the domain.
Anything else is asked of the daemon over its socket, or loaded after the event is safe.
"""
