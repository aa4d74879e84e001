"""The admin page: HTML, CSS and JavaScript."""
