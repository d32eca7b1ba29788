"""What a container is started with besides its image: variables, command and arguments. Pure.

``assembling`` makes all of it, as a kubelet does. ``objects`` says what it needs of Secrets and ConfigMaps.

Values are confidential. Only ``Environment.variables``, ``command`` and ``args`` hold them: no ``repr``, no
sentence and no event does.
"""
