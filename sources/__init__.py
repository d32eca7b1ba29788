"""Where pods come from: source actors, manifest decoding, and the settings that choose them."""
