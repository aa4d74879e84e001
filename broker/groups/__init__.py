"""Consumer groups of the classic protocol: members, leader, committed offsets.

A state core without messages, sockets or a clock. `coordinator` is the table of groups, `group` the
state machine of one group, `members` its members and their votes, `session_timer` their sessions,
`offsets` the committed offsets.
"""
