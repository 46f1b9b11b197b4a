"""The MCP server: the tools that agents call over the Model Context Protocol."""
