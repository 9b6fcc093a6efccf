"""An engine as another package would bring one: found through entry points, and nothing else of it known."""
