"""What runs pods. ``api`` is the seam: two implementations are here, and anybody may write another one."""
