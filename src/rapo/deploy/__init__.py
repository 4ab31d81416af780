"""The way out: policies as files for a robot, and such files measured like runs."""
