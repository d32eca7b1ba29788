"""The stage of the mirrors."""
