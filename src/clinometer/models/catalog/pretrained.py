"""The only place where transformers and peft load anything.

Left to its defaults the library runs a model's own Python code after a "y" at a prompt (or from a
piped stdin), and unpickles weights, which runs code as well. Here both are refused unless the
caller allows them, at every call: tests/security/test_model_folders.py finds any other call.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.errors import ClinometerError, ModelError, ModelNotFound
from clinometer.extras import require
from clinometer.storage.untrusted import open_binary, parse_json

#: Classes that load no weights; a tokenizer would keep an option it does not know.
_WITHOUT_WEIGHTS = ("AutoConfig", "AutoTokenizer")
#: As safetensors itself has it.
_LONGEST_HEADER = 100_000_000


def pretrained(
    auto_class: Any,
    source: str | Path,
    *,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    **options: Any,
) -> Any:
    """`auto_class.from_pretrained`, with code and pickles only where they are allowed."""
    if auto_class.__name__ not in _WITHOUT_WEIGHTS:
        options["use_safetensors"] = None if allow_pickle else True
    return auto_class.from_pretrained(source, trust_remote_code=trust_remote_code, **options)


def pretrained_pipeline(task: str, model: str, device: Any) -> Any:
    """A transformers pipeline; it never runs a model's code and never unpickles."""
    import transformers

    return transformers.pipeline(
        task,
        model=model,
        device=device,
        trust_remote_code=False,
        model_kwargs={"use_safetensors": True},
    )


def merged_adapter(model: Any, folder: Path) -> Any:
    """The model with the adapter of a peft folder merged into its weights.

    Every tensor of the folder must have been read and every weight of the adapter given: peft
    ignores the former and initialises the latter, with a warning at most.
    """
    require("a model with an adapter", "peft")
    import peft

    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():  # peft would unpickle another file, or look for one on the hub
        raise ModelNotFound(f"adapter {str(folder)!r}: expected {weights.name} in it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Merging into an output layer that is also the embedding would change both.
            warnings.filterwarnings("error", message=".*tie_word_embeddings.*")
            adapted = peft.PeftModel.from_pretrained(model, folder)
            read = peft.get_peft_model_state_dict(adapted, save_embedding_layers=False)
            if strays := sorted(read.keys() ^ weights_header(weights).keys()):
                raise ValueError(f"the adapter and its configuration disagree on {strays[0]!r}")
            return adapted.merge_and_unload()
    except Exception as error:  # peft has no base class for its errors
        text = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"adapter {str(folder)!r}: peft cannot merge it into its base model: {text[:200]}"
        ) from error


@contextlib.contextmanager
def loading(
    name: str,
    source: str | Path,
    *,
    allow_pickle: bool = False,
    instead: str | None = "--trust-remote-code",
) -> Iterator[None]:
    """Load without output, and turn a failure into one line with the next step.

    `instead` is the option that would allow a model's own code; None where there is none.
    """
    import transformers

    try:
        with quiet(transformers):
            yield
    except ClinometerError:
        raise
    except Exception as error:
        raise _explained(name, Path(source), error, allow_pickle, instead) from error


@contextlib.contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No progress bars or notes on the library's own future while loading; put back as it was."""
    bars = transformers.utils.logging
    was_on = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if was_on:
            bars.enable_progress_bar()


def _explained(
    name: str, folder: Path, error: Exception, allow_pickle: bool, instead: str | None
) -> ModelError:
    text = " ".join(str(error).split()) or type(error).__name__
    if "trust_remote_code" in text:
        wanted = f"unless you ask for it: {instead}" if instead else "by this command"
        return ModelError(f"model {name!r} brings its own code, which is not run {wanted}")
    if "gated repo" in text:
        return ModelNotFound(
            f"model {name!r} is gated: ask for access on its page of the Hugging Face hub, "
            "then run 'hf auth login'"
        )
    if not allow_pickle and _only_pickled(folder, text):
        wanted = "read only with --allow-pickle" if instead else "not read by this command"
        return ModelError(
            f"model {name!r} has no safetensors weights; pickled weights can run code and are "
            f"{wanted}"
        )
    if isinstance(error, OSError) and not folder.is_dir():
        return ModelNotFound(
            f"model {name!r}: not in the local cache, and the Hugging Face hub did not give "
            f"it: check the name and the connection ({text[:100]})"
        )
    if (damaged := damaged_weights(folder)) is not None:
        return ModelError(
            f"model {name!r} cannot be loaded: {damaged} is cut short or damaged: copy or download "
            "it again"
        )
    return ModelError(f"model {name!r} cannot be loaded: {text[:200]}")


def damaged_weights(folder: Path) -> Path | None:
    """A safetensors file of the folder that is not as long as its header says; None: all are."""
    for file in sorted(folder.glob("*.safetensors")) if folder.is_dir() else ():
        try:
            weights_header(file)
        except ValueError:
            return file
    return None


def weights_header(file: Path) -> dict[str, dict[str, Any]]:
    """The tensors that a safetensors file holds; ValueError where its length says otherwise."""
    try:
        size = file.stat().st_size
        with open_binary(file) as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(size, _LONGEST_HEADER):
                raise ValueError("no header")
            header: dict[str, dict[str, Any]] = parse_json(stream.read(length))
        header.pop("__metadata__", None)
        ends = [tensor["data_offsets"][1] for tensor in header.values()]
        if 8 + length + max(ends, default=0) != size:
            raise ValueError("cut short")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{file}: cut short or damaged") from error
    return header


def _only_pickled(folder: Path, text: str) -> bool:
    if folder.is_dir():
        return not any(folder.glob("*.safetensors")) and any(folder.glob("*.bin"))
    return "safetensors" in text and "pytorch_model.bin" in text
