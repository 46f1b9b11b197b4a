"""The real clients, offline: each runs in a closed network against a scripted model, with the product installed."""
