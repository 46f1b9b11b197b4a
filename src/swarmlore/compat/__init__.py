"""Compatibility with other memory programs: their file formats, MCP tool names, REST routes and commands."""
