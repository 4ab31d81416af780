"""Gymnasium's MuJoCo environments as tasks: by id or by class, each checked beside the original."""
