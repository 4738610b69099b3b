"""The folder that PyInstaller builds: the app without torch (`python run.py bundle`)."""
