"""Files of this machine: those that are looked at again and again, and those that are cgroups.

``looking`` says what is there and whether it has settled, ``watching`` when it is worth looking. Neither
knows what is in the files. ``verdicts`` judges them: the last good content of each file, and what its
owner is told. ``keeping`` has that content on disk, for the next process. ``cgroups`` makes, limits and
removes cgroups.
"""
