"""Pure rules over records: no I/O, no clock; time, ids and randomness come in as arguments."""
