"""Text functions without I/O or clock, on the standard library only: parsing, normalising, comparing."""
