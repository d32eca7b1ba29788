"""Why a pod does not run, or is not ready: each cause once, in sentences, and what to do about it. Pure."""
