"""Pure functions over text: no I/O, no clock, standard library only."""
