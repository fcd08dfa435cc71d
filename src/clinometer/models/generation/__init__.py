"""Models that write: sampling, chat, and recognising words in replies."""
