"""Widgets: thin. Each draws the data it is given (``draw``) and sends intents (``emit``); none knows another."""
