"""People, programs and guests: identities, roles, tokens, their data, what they may see."""
