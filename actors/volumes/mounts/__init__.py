"""Mounting for pods: what is mounted, making it, and taking it away.

From the bottom: ``mount_table`` reads what the kernel says, ``system_calls`` has what Python lacks,
``places`` opens names without leaving a directory. Whatever is made may be made again: a call that a
crash cut short is finished by the next one.
"""
