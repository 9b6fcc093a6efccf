"""A file that no patch touches: overlays link to it."""
