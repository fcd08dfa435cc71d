"""How the pocket models were made: text, tokenizers, objectives, the training loop, cards."""
