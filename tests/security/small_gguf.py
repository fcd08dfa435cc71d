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
    sizes = {"context_length": 64, "embedding_length": WIDTH, "block_count": layers}
    sizes |= {"feed_forward_length": HIDDEN, "head_count": HEADS, "head_count_kv": HEADS}
    sizes |= {"rope_dimension_count": WIDTH // HEADS, "vocab_size": len(words)}
    sizes |= {"unk_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    for name, number in sizes.items():
        getattr(writer, f"add_{name}")(number)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3, *([1] * (len(words) - 3))])
    writer.add_token_merges(["! #", "# !"])  # transformers reads a single one as text
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    shapes = dict.fromkeys(("token_embd", "output"), (len(words), WIDTH))
    shapes |= {f"blk.0.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{name}": (HIDDEN, WIDTH) for name in ("gate", "up")}
    for name, shape in {**shapes, "blk.0.ffn_down": (WIDTH, HIDDEN)}.items():
        writer.add_tensor(f"{name}.weight", weights(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
