"""The warm process: one per home, with the model and the vectors in memory, for hooks and for other servers."""
