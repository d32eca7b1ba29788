"""What may run the pods of a node: containers of a machine, hollow ones, a class of somebody's own."""
