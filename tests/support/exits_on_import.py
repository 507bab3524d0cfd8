"""A module that ends the process that imports it, as a script without a main guard may."""

raise SystemExit(3)
