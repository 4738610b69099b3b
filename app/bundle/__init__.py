"""The folder that PyInstaller makes: the app without torch (`python run.py bundle`)."""
