"""The store: one class over named SQL and a small engine."""
