"""Models behind an OpenAI-compatible server: `openai:URL#MODEL`.

client      the address and its key; requests with retries, a budget and usage counts
reply       the log-probabilities in a completion's JSON
routes      ways to query chosen tokens, exact ones first
tokenizer   the server's own tokenizer behind our interface
scorer      which model a server serves and by which route; words at the slot, as for any other
            causal model
sampler     sampled texts, and replies to a conversation
"""
