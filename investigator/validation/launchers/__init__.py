"""Where an experiment folder is executed; every launcher leaves its ``results/`` in that folder."""
