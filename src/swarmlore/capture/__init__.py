"""From what clients report to what is remembered: sessions, lessons, metrics, and the answers to their hooks."""
