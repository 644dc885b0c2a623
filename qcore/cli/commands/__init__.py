"""One module for each command; ``run(settings, ...)`` returns a result."""
