"""Notes: Markdown pages that people write and commit, indexed as memories and kept in sync with their files."""
