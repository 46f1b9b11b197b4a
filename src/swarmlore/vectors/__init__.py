"""Vectors: `local` holds them in memory over a file, `remote` leaves them to the database of a team's store."""
