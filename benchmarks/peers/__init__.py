"""Scripts that run other libraries in environments of their own."""
