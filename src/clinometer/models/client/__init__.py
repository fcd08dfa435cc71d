"""A server, asked over HTTP: its address and key, the pace of requests, and what they cost."""
