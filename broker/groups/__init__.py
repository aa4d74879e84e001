"""Consumer groups of the classic protocol: who is a member, who leads, what was committed.

A state core without messages, sockets or a clock. `coordinator` is the table of groups, `group` the
state machine of one, `membership` its members and their votes, `session` the time they have left,
`offsets` what it committed.
"""
