"""Puts the agent where it is used: ``make install``, ``make uninstall``, ``make deb``.

Only the standard library is needed, since this runs before there is an environment.
"""
