"""Example networks: plain PyTorch modules, one family a file, listed in the catalogue."""
