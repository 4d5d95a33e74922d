"""The shapes that the drain bench compares: how each one's workers are started, loaded and set off."""
