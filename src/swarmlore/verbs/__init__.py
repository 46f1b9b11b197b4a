"""What can be asked of a server: the methods of `Lore` as a table, with what each takes."""
