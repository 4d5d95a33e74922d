"""What nobody asked for but somebody has to do: one duty a file, each run by beat, each safe to run twice at once.

The rows are the truth and messages get lost, so these find what a lost message left behind.
"""
