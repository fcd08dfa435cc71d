"""Models behind a server: hosted ones (`openai/NAME`) and any of OpenAI's API (`openai:URL`).

`open.py` finds out whether words can be scored (`words.py`), first tokens are listed
(`first_tokens.py`), or replies are sampled (`sampler.py`).
"""
