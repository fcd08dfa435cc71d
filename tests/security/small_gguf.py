"""A real .gguf file of a few kilobytes: a Llama of random weights with a byte-level vocabulary."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, HIDDEN, HEADS, LAYERS = 16, 24, 2, 1


def write_gguf(file: Path, *, layers: int = LAYERS) -> Path:
    """`layers` is what it says that it has; it has one."""
    words = ["<unk>", "<s>", "</s>", "!#", "#!", *(chr(0x21 + i) for i in range(60))]
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3, *([1] * (len(words) - 3))])
    writer.add_token_merges(["! #", "# !"])  # transformers reads a single one as text
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_tensor("token_embd.weight", weights(len(words), WIDTH))
    writer.add_tensor("output.weight", weights(len(words), WIDTH))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", weights(WIDTH, WIDTH))
    for name, shape in (
        ("ffn_gate", (HIDDEN, WIDTH)),
        ("ffn_up", (HIDDEN, WIDTH)),
        ("ffn_down", (WIDTH, HIDDEN)),
    ):
        writer.add_tensor(f"blk.0.{name}.weight", weights(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
