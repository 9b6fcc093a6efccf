"""Engines: how the contracts' questions are put to each one's code.

``interface`` is what an engine must provide; ``vllm`` is the first. An engine finds its
places by the role they play (who constructs the KV-cache manager, who hands layer ids to
the target), starts the interpreter there with the checkpoint's own numbers, and reads the
answer where the value is used.
"""
