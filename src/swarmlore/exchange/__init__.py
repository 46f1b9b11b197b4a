"""Memories in files that others read and write: ledgers in git, imports, exports."""
