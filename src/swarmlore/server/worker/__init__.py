"""The worker: does the jobs of the queue, each in a child process that may hang, end or eat memory at its own cost."""
