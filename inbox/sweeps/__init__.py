"""What nobody asked for but somebody has to do: one duty a file, each run by beat, each safe to run twice at once."""
