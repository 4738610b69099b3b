"""The words beside the accuracy table: who measured it, and which cases are furthest off."""
