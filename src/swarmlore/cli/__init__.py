"""The command line. Each command parses its arguments, calls one method of `Lore` and renders the result.

`command_table` lists the commands, `arguments` builds the parser of one command, `console` runs it and owns its
streams, `render` formats results. A command's module is imported only when it runs, so small commands start quickly.
"""
