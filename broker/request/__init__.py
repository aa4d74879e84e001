"""What a handler knows about its request, and what a request is charged for."""
