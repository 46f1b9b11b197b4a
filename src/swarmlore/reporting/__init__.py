"""What the memory did: figures per memory, per project and over time, and whether there is too much junk."""
