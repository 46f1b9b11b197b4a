"""Records of other memory programs, one module per program: read into a memory, written back as they were."""
