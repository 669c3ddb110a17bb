"""Routes: what comes in is read strictly, what goes out is what the OpenAPI document says."""
