"""Charts over the rounds of the shown turn. Everything in them is computed from the records."""
