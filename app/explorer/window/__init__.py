"""The explorer's frame: head, verdict, docks in workspaces, scenarios, menus and keys."""
