"""Reading what other programs recorded: event files, tables, trainer states."""
