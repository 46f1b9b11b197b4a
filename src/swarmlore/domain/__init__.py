"""Domain rules over records: no I/O and no clock; time, ids and randomness come in as arguments."""
