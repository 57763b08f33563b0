"""Simulated rounds: an oracle with the folders' classes answers what a strategy asks; which strategy learns fastest?"""
