"""The demo: a scripted provider, a front end, and a terminal display of both."""
