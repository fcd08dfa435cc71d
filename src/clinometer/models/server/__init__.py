"""Models behind an OpenAI-compatible server: `openai:URL#MODEL`.

address     where the server is, and the key from the environment
client      requests with retries, a budget and an account of both
served      which model a server serves, in its own words
reply       what a completion's JSON says of log-probabilities
routes      the ways to ask for chosen tokens, exact ones first
probe       which of them this server can go
tokenizer   the server's own tokenizer as a tokenizer
scorer      words at the slot, as of any other causal model
sampler     draws, for servers that tell no log-probabilities
"""

from clinometer.models.server.open import open_server

__all__ = ["open_server"]
