"""The chat: list, conversation, composer, settings of a conversation. Knows records and the store, no engine object."""
