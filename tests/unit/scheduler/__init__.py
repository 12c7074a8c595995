"""What cron expressions mean, when they are due on the nights of summer time, what HEARTBEAT.md asks."""
