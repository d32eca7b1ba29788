"""Making the volumes of pods: what each is, where it goes, the jobs that make it, and threads for them."""
