"""What the API server fills in where a pod says nothing."""
