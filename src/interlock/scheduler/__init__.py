"""The leader and the jobs that time starts; no work done in the scheduler itself."""
