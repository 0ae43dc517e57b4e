"""What people look at. Reads run files only, so anybody's run gets the same page as ours."""
