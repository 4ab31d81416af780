"""The built-in tasks: a file for each, a folder for the quadrotor. `rapo.world.find_task` has their names."""
