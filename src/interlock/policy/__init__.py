"""Risk, rules, decisions and budget arithmetic as pure functions: no storage, no clock, no side effects.

`decide.decide()` is the door. It takes the definition of the tool (`definitions`), looks at the arguments once
(`arguments`) and at what they mean (`meaning`): each value by its kind (`values`, `command_lines`, `code`, `queries`,
`own_tools`). Then the rules of the policy file hold or deny (`rules`; written and checked in `as_code`).
"""
