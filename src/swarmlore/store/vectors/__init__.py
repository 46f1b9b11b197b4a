"""Vectors: `local` holds them in memory or, where they are many, in a file that all processes map (`kept`, made by
`building`, searched by `approximate`); `remote` leaves them to the database of a team's store."""
