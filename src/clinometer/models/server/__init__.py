"""Hosted models (`openai/NAME`, `anthropic/NAME`, …) and any OpenAI-compatible server
(`openai:URL#MODEL`).

routes   words at the slot, as for any other causal model: ways to query chosen tokens, exact ones
         first, with the server's own tokenizer
chat     which way a model is asked; the chat endpoint in two wire formats, and what it accepts,
         learnt from its refusals: first tokens, sampled texts, and replies to a conversation
"""
