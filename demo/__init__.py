"""What the demo needs beside Holdfast itself: a receiver to deliver to."""
