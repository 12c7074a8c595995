"""Runs other than tasks and chats: the Learner's, votes, rounds, subagents, schedules, routing."""
