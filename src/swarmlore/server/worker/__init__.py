"""The worker: runs queued jobs in child processes."""
