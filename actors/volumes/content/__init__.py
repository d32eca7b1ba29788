"""What the files of a pod's volume are: from the volume, the pod and its objects. Pure."""
