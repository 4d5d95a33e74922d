"""An application that receives webhooks, for tests with real workers: what its handlers did is rows to be counted."""
