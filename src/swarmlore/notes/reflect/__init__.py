"""From a session to what should be learned from it: scan, classify, compare, propose, decide, write, count."""
