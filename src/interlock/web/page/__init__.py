"""The web page: the approval queue, the squad and its controls, agents, alerts. It needs no script to work."""
