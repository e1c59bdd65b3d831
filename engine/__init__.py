"""Turns a conversation into tokens, and every round into a record. No Qt."""
