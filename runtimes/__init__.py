"""What runs pods. ``messages.pod_runtime`` is the contract: anybody may write another one."""
