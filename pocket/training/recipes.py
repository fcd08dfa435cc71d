"""What each model is: its family, shape, objective and the numbers of its training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    XLNetConfig,
    XLNetLMHeadModel,
)

from .objectives import Causal, Masked, Objective, Permutation, SpanCorruption


@dataclass(frozen=True)
class Shape:
    """A batch part: how many rows of how many text tokens."""

    rows: int
    width: int


@dataclass(frozen=True)
class Recipe:
    """Everything that makes one model, apart from the text, the seed and the length of training."""

    family: str
    build: Callable[[], PreTrainedModel]
    objective: Callable[[PreTrainedTokenizerFast], Objective]
    separator: str
    long: Shape
    short: Shape
    stretched: Shape | None = None
    """Takes the place of `long` at every tenth step, so that far positions are trained too."""
    spaced: bool = False
    learning_rate: float = 1e-3
    warm_up: float = 0.1
    weight_decay: float = 0.1
    muon: bool = False
    """Whether the matrices of the blocks are trained by Muon instead of AdamW."""

    def smaller(self, factor: int) -> Recipe:
        """The same recipe with fewer rows in a batch, for a trial on a small machine.

        Without Muon, which computes in bfloat16: minutes a step on a CPU that lacks it.
        """
        parts = {"long": self.long, "short": self.short, "stretched": self.stretched}
        fewer = {
            name: Shape(max(4, part.rows // factor), part.width) if part else None
            for name, part in parts.items()
        }
        return replace(self, muon=False, **fewer)


def _bert() -> PreTrainedModel:
    """BERT's task and tokenizer on ModernBERT's layers: norms first, rotary positions, gated units.

    At the same size they learn faster than BERT's own, which stayed at word frequencies for the
    first tenth of a training run.
    """
    return ModernBertForMaskedLM(
        ModernBertConfig(
            vocab_size=10_240,
            hidden_size=384,
            num_hidden_layers=8,
            num_attention_heads=6,
            intermediate_size=736,
            global_attn_every_n_layers=1,
            max_position_embeddings=512,
            embedding_dropout=0.05,
            mlp_dropout=0.1,
            pad_token_id=0,
            cls_token_id=2,
            bos_token_id=2,
            sep_token_id=3,
            eos_token_id=3,
        )
    )


def _gpt2(layers: int, width: int) -> Callable[[], PreTrainedModel]:
    def build() -> PreTrainedModel:
        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=8192,
                n_positions=256,
                n_embd=width,
                n_layer=layers,
                n_head=width // 64,
                embd_pdrop=0.05,
                resid_pdrop=0.05,
                attn_pdrop=0.0,
                bos_token_id=0,
                eos_token_id=0,
            )
        )

    return build


def _t5() -> PreTrainedModel:
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=8192,
            d_model=160,
            d_kv=32,
            num_heads=5,
            d_ff=320,
            num_layers=3,
            num_decoder_layers=3,
            feed_forward_proj="gated-gelu",
            dropout_rate=0.05,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    )
    # T5 draws embeddings of standard deviation 1, made for Adafactor, whose steps grow with the
    # weights; the steps of AdamW do not, and want small weights.
    with torch.no_grad():
        model.shared.weight.mul_(0.1)
    return model


def _xlnet() -> PreTrainedModel:
    model = XLNetLMHeadModel(
        XLNetConfig(
            vocab_size=8104,
            d_model=160,
            n_layer=5,
            n_head=5,
            d_inner=640,
            dropout=0.05,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=5,
        )
    )
    with torch.no_grad():
        for layer in model.transformer.layer:
            attention, ff = layer.rel_attn, layer.ff
            # At XLNet's 0.02, made for a width of 1,024, attention here begins uniform and stays
            # so: the model learned word frequencies and nothing else.
            for name in "qkvor":
                getattr(attention, name).normal_(std=0.08)
            ff.layer_1.weight.normal_(std=0.08)
            ff.layer_2.weight.normal_(std=0.08)
            # Segments are not trained; at zero, token types that someone passes change nothing.
            for name in ("seg_embed", "r_s_bias", "r_w_bias", "r_r_bias"):
                getattr(attention, name).zero_()
    return model


def _masked(tokenizer: PreTrainedTokenizerFast) -> Objective:
    return Masked(
        cls=tokenizer.cls_token_id,
        sep=tokenizer.sep_token_id,
        mask=tokenizer.mask_token_id,
        pad=tokenizer.pad_token_id,
    )


def _causal(tokenizer: PreTrainedTokenizerFast) -> Objective:
    return Causal(end=tokenizer.eos_token_id)


def _span_corruption(tokenizer: PreTrainedTokenizerFast) -> Objective:
    return SpanCorruption(
        pad=tokenizer.pad_token_id,
        end=tokenizer.eos_token_id,
        first_sentinel=tokenizer.convert_tokens_to_ids("<extra_id_0>"),
    )


def _permutation(tokenizer: PreTrainedTokenizerFast) -> Objective:
    return Permutation(
        pad=tokenizer.pad_token_id,
        sep=tokenizer.sep_token_id,
        cls=tokenizer.cls_token_id,
    )


def _gpt2_recipe(layers: int, width: int) -> Recipe:
    return Recipe(
        family="gpt2",
        build=_gpt2(layers, width),
        objective=_causal,
        separator="<|endoftext|>",
        long=Shape(96, 255),
        short=Shape(160, 47),
        spaced=True,
        learning_rate=1e-3,
    )


RECIPES: dict[str, Recipe] = {
    "bert": Recipe(
        family="bert",
        build=_bert,
        objective=_masked,
        separator="[SEP]",
        long=Shape(768, 126),
        short=Shape(512, 46),
        stretched=Shape(192, 510),
        learning_rate=2e-3,
        warm_up=0.05,
        muon=True,
    ),
    "gpt2-s": _gpt2_recipe(layers=5, width=128),
    "gpt2-m": _gpt2_recipe(layers=7, width=192),
    "gpt2-l": _gpt2_recipe(layers=10, width=256),
    "t5": Recipe(
        family="t5",
        build=_t5,
        objective=_span_corruption,
        separator="</s>",
        long=Shape(192, 95),
        short=Shape(256, 47),
        learning_rate=3e-3,
        muon=True,
    ),
    "xlnet": Recipe(
        family="xlnet",
        build=_xlnet,
        objective=_permutation,
        separator="<eod>",
        long=Shape(160, 94),
        short=Shape(256, 46),
        learning_rate=1e-3,
        muon=True,
    ),
}
