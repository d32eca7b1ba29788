"""The process and what it is composed of: who there is, who knows whom, and the process's edges."""
