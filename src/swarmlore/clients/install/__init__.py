"""Installing: our entries in the files of agent clients, and how they get out again.

A client is one module in `clients/`: which files it reads and what belongs into them. `entries` knows how an entry is
put into a file and taken out, `json_text` and `toml_text` change such files without disturbing the rest, `owning` says
what is ours where no list does, `planning` decides what would change, `applying` does all of it or nothing, `ledger`
keeps what is needed to undo it.
"""
