"""Golden histories: what releases recorded, and the proof that every later one replays it."""
