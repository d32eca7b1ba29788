"""Probes that are carried out turn by turn, and hostile targets for them."""
