"""Reference semantics of a DFlash drafter in plain torch, with each fault switchable.

This program stands on torch and safetensors alone: the folder is copied into experiment folders and
runs where this package is not installed. Models are plain functions over the checkpoint's own
tensors, so that training, reading and writing Hugging Face checkpoints need no classes.

What is meant by the reference: an id ``k`` of ``target_layer_ids`` taps the output of decoder
layer ``k``; each draft layer attends as ``layer_types`` says; sliding layers are causal inside
the block and full layers see all of it; context keys and values are kept. A draft layer rotates
in halves, whatever its target does.

    python reference --target DIR --draft DIR --prompts prompts.json --out result.json [--fault ID]
"""
