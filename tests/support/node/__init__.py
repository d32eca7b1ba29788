"""The stage of the Node and its Lease."""
