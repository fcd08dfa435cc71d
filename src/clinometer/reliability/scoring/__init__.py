"""One reliability run: texts, likelihoods, scores, folder."""
