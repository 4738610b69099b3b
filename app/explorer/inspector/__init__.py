"""The current scenario in controls: its values, its what-ifs, advice and goals."""
