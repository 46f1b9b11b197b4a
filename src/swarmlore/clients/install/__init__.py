"""Installation: put our entries into the files of agent clients, and take them out again.

Each client has one module, which lists its files and entries. `entries` puts an entry into a file and takes it out;
`edit_json` and `edit_toml` change such files without touching the rest. `plan` decides what changes and carries it out
as a whole or not at all; `manifest` keeps what an undo needs; `status` reports how an installation stands.
"""
