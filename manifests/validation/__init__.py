"""What the API server would refuse, one module for each part of a pod."""
