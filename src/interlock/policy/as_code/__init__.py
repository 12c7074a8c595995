"""Policy files: parsing, conditions, lint, test cases, replay over recorded calls, drafts of rules."""
