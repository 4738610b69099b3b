"""Long runs that search for failures; each is a module, and a short part of each is a test."""
