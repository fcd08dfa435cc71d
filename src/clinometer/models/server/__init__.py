"""Hosted models (`openai/NAME`, `anthropic/NAME`, …) and any OpenAI-compatible server
(`openai:URL#MODEL`).

client   the address and its key; requests with retries, a budget and usage counts, as fast as the
         server allows
chat     the chat endpoint in two wire formats, and what it accepts, learnt from its refusals
routes   ways to query chosen tokens, exact ones first, with the server's own tokenizer
scorer   which model a server serves and by which route; words at the slot, as for any other causal
         model; sampled texts, and replies to a conversation
"""
