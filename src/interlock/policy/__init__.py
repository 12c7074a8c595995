"""Risk, rules, decisions and budget arithmetic as pure functions: no storage, no clock, no side effects."""
