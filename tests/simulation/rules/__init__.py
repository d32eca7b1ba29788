"""Stories that break each rule of the oracle, and their opposites: by the files that the rules stand in."""
