"""Ways to query a server for the probabilities of chosen tokens after a path of tokens.

Each route answers many queries (path, wanted tokens) at once. In the order in which they are
tried, with the servers that are known to offer them:

    token-ids         the server looks up the wanted tokens itself (vLLM's logprob_token_ids)
    generate          the same by SGLang's own endpoint, /generate (its token_ids_logprob)
    prompt-logprobs   path and token are sent as the prompt, which is returned with
                      log-probabilities (vLLM's prompt_logprobs)
    echo              the same with the echo of OpenAI's first API (vLLM and others)
    boost             one bias lifts the wanted tokens and a known one above all others, and keeps
                      their ratios to the known one (llama.cpp)
    boost-plain       the same where log-probabilities are always returned after the bias (OpenAI's
                      first API)
    force             a bias makes the server generate the token, and it returns the
                      log-probability from before the bias; one request per token (vLLM without the
                      above)
    top-k             only the k most probable tokens: the others are bounded from above
    ollama            the same by Ollama's own endpoint, /api/generate (its top_logprobs), which
                      takes the path as text
"""

from __future__ import annotations

from clinometer.models.server.routes.biased import Boost, Force, PlainBoost
from clinometer.models.server.routes.chosen_tokens import (
    Echo,
    GenerateIds,
    PromptLogProbs,
    TokenIds,
)
from clinometer.models.server.routes.most_probable import TopK
from clinometer.models.server.routes.ollama import Ollama, OllamaEndpoint
from clinometer.models.server.routes.route import Bounds, Endpoint, Floats, Route

__all__ = ["ROUTES", "Bounds", "Endpoint", "Floats", "OllamaEndpoint", "Route"]

_TRIED = (TokenIds, GenerateIds, PromptLogProbs, Echo, Boost, PlainBoost, Force, TopK, Ollama)
ROUTES: dict[str, type[Route]] = {route.name: route for route in _TRIED}
