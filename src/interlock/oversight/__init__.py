"""What watches the agents: learner, heartbeat ladder, breakers and gates; no surfaces for people."""
