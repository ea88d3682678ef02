"""closeknit."""
