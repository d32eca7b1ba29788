"""Mirror pods: the actor that keeps them, its decisions, its knowledge of each name, and its calls."""
