"""Probes: what an evaluator does under attack, and when texts are made worse in known ways.

``attacks`` holds the attacks, ``attack_trial`` runs them on an evaluator; ``behaviour`` makes texts worse and looks at
what the evaluator notices.
"""
