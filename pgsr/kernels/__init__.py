"""The compiled loops. Nothing here is imported before a method first needs it."""
