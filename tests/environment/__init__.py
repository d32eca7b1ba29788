"""The world around a whole agent: a machine, wanted pods, time, and who looks that promises are kept."""
