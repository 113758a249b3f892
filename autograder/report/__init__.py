"""What people read of results: in the terminal, and in pages."""
