"""What is remembered: plain classes and pure functions, each owned by one actor."""
