"""The command line: a thin front end over the public API.

``app`` builds the program from the rows of ``table`` and holds its one error boundary; a command is one module
under ``commands``, imported when it is run. A command returns a :class:`~qcore.cli.output.Result`; nothing but
``app`` writes to standard output.
"""
