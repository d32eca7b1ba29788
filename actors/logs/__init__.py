"""The logs of containers on disk: where they are, what is in them, reading and rotating them.

A container's runtime writes its log. Everything else here is a kubelet's part of it, in a kubelet's
layout, so that log collectors, ``crictl`` and a kubelet find what they know. ``LogKeeper`` hears of the
runtime which containers there are, and of PodManager and PodKeeper which pods; it links, rotates and
removes, and tells the runtime to reopen a log that it has rotated.

- Pure: ``layout`` (names), ``records`` (what is in a file), ``rotation`` (what to do about a file that is
  too long), ``upkeep`` (what to link and to remove).
- ``directories`` opens files without following a link, ``open_files`` finds their last lines, and
  ``reading`` reads a log over its rotations.
  ``answers`` are whole answers from it. ``rotating`` carries out the steps of a rotation.
"""
