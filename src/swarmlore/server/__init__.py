"""Server processes: the daemon, the HTTP server, MCP, the worker, and the clients of a remote server."""
