"""The command for people: ``actorlet``. It asks a running agent, and knows it by its endpoints alone.

Each answer is there within 0.3 s, so nothing of the agent is imported, and what draws tables only to draw.
"""
