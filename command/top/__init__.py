"""The live view in a terminal.

What it shows follows from a state by pure functions: ``screen`` makes lines of it, ``keys`` changes it.
Only ``app`` and ``canvas`` know textual, and only ``asking`` and ``following`` talk to the agent, in threads
of their own.
"""
