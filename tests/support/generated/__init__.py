"""Workflows that Hypothesis makes up: plain specifications, the MAF workflows built from them, and scripts to run them.

A specification prints as the code that makes it, so that a failing example can be pasted into a test as it is.
"""
