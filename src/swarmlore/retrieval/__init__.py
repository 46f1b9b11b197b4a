"""What memories are about and how that hangs together: neighbourhoods, communities, and what a picture needs."""
