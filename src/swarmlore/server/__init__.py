"""One memory for many who ask at the same time: their writes in groups, their reads beside them."""
