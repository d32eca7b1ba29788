"""What is not for every user of the machine: logs of containers and commands in them, over a Unix socket."""
