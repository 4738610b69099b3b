"""The folder that PyInstaller builds: the app without torch (`python run.py bundle`).

May import the command, which imports everything else in `app`.
"""
