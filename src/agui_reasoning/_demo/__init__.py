"""The demo: a scripted provider, a front end, and the screen that shows both."""
