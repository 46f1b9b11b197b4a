"""The HTTP server: REST routes, MCP endpoint and streams, all behind a token."""
