"""Secrets at rest: model fields whose columns hold ciphertext, and the keys. Knows no other package of ours."""
