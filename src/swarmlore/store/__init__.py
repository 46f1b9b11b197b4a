"""The store: memories and everything else in SQLite or PostgreSQL, as one class over named SQL and a small engine."""
