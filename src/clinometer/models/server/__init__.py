"""Hosted models (`openai/NAME`, `anthropic/NAME`, …) and any OpenAI-compatible server
(`openai:URL#MODEL`).

providers   the table of hosted models: addresses, keys, formats, prices
client      the address and its key; requests with retries, a budget and usage counts
pace        how fast requests are sent
accepted    what a server accepts, learnt from its refusals
chat        the chat endpoint in two wire formats
reply       the log-probabilities in a completion's JSON
routes      ways to query chosen tokens, exact ones first
tokenizer   the server's own tokenizer behind our interface
scorer      which model a server serves and by which route; words at the slot, as for any other
            causal model
sampler     sampled texts, and replies to a conversation
"""
