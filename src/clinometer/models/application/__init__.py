"""Applications asked like models: a function of yours, or an address that a file describes.

`app:package.module:function` is called with the messages of a prompt (or the record of a case) and
returns a text. `http:FILE.toml` is sent a request made from a template. Both are asked by the
client of servers, a function through a transport that calls it: retries, timeouts, limits and what
a kill costs are those of any server.
"""
