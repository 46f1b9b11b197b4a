"""The memory of another machine: the verbs of `Lore`, asked of a server."""
