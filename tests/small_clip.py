"""A CLIP made here: no CLIP weights ship with any package."""

from __future__ import annotations

from pathlib import Path


def make_clip(folder: Path) -> Path:
    """A CLIP of two small layers with random weights."""
    import torch
    import transformers
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    end = vocabulary["<|endoftext|>"]
    small = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    text = {"vocab_size": len(pieces), "max_position_embeddings": 32, "bos_token_id": end - 1}
    text |= {"eos_token_id": end, "pad_token_id": end}
    torch.manual_seed(0)
    config = transformers.CLIPConfig(
        text_config=small | text,
        vision_config=small | {"image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer = transformers.CLIPTokenizerFast(vocab=vocabulary, merges=[])
    tokenizer.model_max_length = 32
    tokenizer.save_pretrained(folder)
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    transformers.CLIPImageProcessorPil(**size).save_pretrained(folder)
    return folder
