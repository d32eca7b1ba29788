"""The volumes of pods: what their files are, how directories show them, and what is mounted for them.

The worker of a pod tells ``VolumeKeeper`` that it wants the pod's volumes (``WantVolumes``). The keeper
follows the objects that they show by the levels of objects, and has tokens of ``TokenKeeper``, which asks
``ApiCalls`` for them. It gives jobs to lanes of threads, tells the worker where the volumes are, and
makes their files anew when an object or a token changes. On ``ReleaseVolumes`` it takes them away and
tells when they are gone.

- ``content`` is what the files of a volume are, pure. ``atomic_directory`` shows them all at once.
- ``mounts`` is where volumes are: file systems in memory, directories, names opened safely below them.
- ``making`` says what each volume of a pod is, and has the jobs and their lanes. All of it may block and
  keeps no lock, so that a call that hangs can be left to its thread.
"""
