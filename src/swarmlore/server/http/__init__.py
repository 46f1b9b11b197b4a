"""The memory over HTTP: every route behind a token."""
