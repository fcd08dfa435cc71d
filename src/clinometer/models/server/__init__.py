"""Models behind an OpenAI-compatible server: `openai:URL#MODEL`.

address     where the server is, and the key from the environment
client      requests with retries, a budget and usage counts
served      which model a server serves, as it reports it
reply       the log-probabilities in a completion's JSON
routes      ways to query chosen tokens, exact ones first
probe       which of them this server supports
tokenizer   the server's own tokenizer behind our interface
scorer      words at the slot, as for any other causal model
sampler     samples, for servers without log-probabilities
"""

from clinometer.models.server.scorer import open_server

__all__ = ["open_server"]
