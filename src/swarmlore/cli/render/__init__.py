"""The doors: each parses, calls one method of `Lore`, and renders."""
