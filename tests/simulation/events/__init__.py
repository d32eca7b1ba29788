"""What happens in a history: kinds of events, each with how often it is drawn and what it does."""
