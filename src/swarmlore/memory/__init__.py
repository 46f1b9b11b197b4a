"""Memory: write, deduplicate, confirm, promote, archive, quarantine and report on stored lessons."""
