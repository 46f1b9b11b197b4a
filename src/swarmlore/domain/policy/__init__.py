"""Policy: the rules for accepting, merging, ranking, promoting, curating and showing memories."""
