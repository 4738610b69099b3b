"""The commands, one file each; nothing heavy is imported before one runs."""
