"""What people see of each manifest: verdicts, when they are news, and whose claim wins."""
