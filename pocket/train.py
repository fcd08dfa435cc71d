"""Train one pocket model from a folder of text.

    python train.py MODEL --text FOLDER --out FOLDER [--minutes M | --steps N] [--seed 0] [--resume]

The finished model lies in OUT/MODEL, the state to resume from in OUT/checkpoint.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from training import text, tokenizer
from training.data import encode
from training.loop import Budget, Trainer
from training.recipes import RECIPES


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "model", choices=RECIPES, metavar="MODEL", help=", ".join(RECIPES)
    )
    parser.add_argument(
        "--text", type=Path, required=True, help="folder of text to train on"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for what comes out"
    )
    parser.add_argument(
        "--tokenizer", type=Path, help="folder of a tokenizer; else one is trained"
    )
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--minutes", type=float, help="train for so long by the clock")
    length.add_argument("--steps", type=int, help="train for so many steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--resume", action="store_true", help="go on from OUT/checkpoint"
    )
    parser.add_argument(
        "--trial", action="store_true", help="few documents, small batches"
    )
    return parser.parse_args(arguments)


def command(options: argparse.Namespace) -> str:
    """The command line with names in place of this machine's folders."""
    length = (
        f"--steps {options.steps}" if options.steps else f"--minutes {options.minutes}"
    )
    return f"python train.py {options.model} --text TEXT --out OUT {length} --seed {options.seed}"


def main() -> None:
    """Run the command line."""
    options = parse()
    recipe = RECIPES[options.model]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    begin = time.monotonic()
    train, held_out = text.split(text.read_folder(options.text))
    if options.trial:
        train, held_out, recipe = train[::40], held_out[::40], recipe.smaller(32)
    if options.tokenizer:
        tokens = tokenizer.load(options.tokenizer)
    else:
        tokens = tokenizer.train(recipe.family, train)
    separator = tokens.convert_tokens_to_ids(recipe.separator)
    streams = [
        encode(part, tokens, separator=separator, spaced=recipe.spaced, device=device)
        for part in (train, held_out)
    ]
    print(
        f"[{options.model}] {len(train):,} documents, {len(streams[0].tokens):,} tokens; held out "
        f"{len(held_out):,} and {len(streams[1].tokens):,}; {time.monotonic() - begin:.0f} s",
        flush=True,
    )
    trainer = Trainer(
        options.model,
        recipe,
        tokenizer=tokens,
        train=streams[0],
        held_out=streams[1],
        out=options.out,
        seed=options.seed,
    )
    if options.resume:
        trainer.resume()
    facts = {
        "command": command(options),
        "training_documents": len(train),
        "training_characters": sum(map(len, train)),
        "held_out_documents": len(held_out),
    }
    trainer.run(Budget(steps=options.steps, minutes=options.minutes), facts=facts)


if __name__ == "__main__":
    main()
