"""Notes: pages that people read, review and commit, as memories; found, added, kept in step with their files."""
