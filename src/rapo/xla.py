"""XLA gets two threads, however many cores there are: one seed is one result.

It shares large sums out among its threads, and by default there is one for each core, so that the machine
would decide their last digits. Two are enough where physics takes nearly all of the time. The environment is
the only place to say so, and it is read when JAX first computes: import rapo before that. On a single core
some products are rounded otherwise all the same.
"""

import os

os.environ["PJRT_NPROC"] = "2"
