"""Operating the squad: emergency controls, mailboxes, schedules, policy, the audit log."""
