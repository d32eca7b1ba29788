"""What the agent is told: flags, configuration files, and the one value that they are settled into.

A setting is one row (``rows``): the default of an attribute of the dataclass by which the agent reads it.
``table`` has all of them. The flags (``command_line``), the models of the file (``schema``), its reader
(``configuration_file``), what is settled and shown (``load``) and what is explained (``explaining``) are
derived from it. What a new kind of value is stands in ``kinds``, and its JSON in ``schema``.
"""
