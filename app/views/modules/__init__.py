"""Where the time goes, module by module."""
