"""The only place where transformers and peft load anything.

Left to its defaults the library runs a model's own Python code after a "y" at a prompt (or from a
piped stdin), and unpickles weights, which runs code as well. Here both are refused unless the
caller allows them, at every call: tests/security/test_model_folders.py finds any other call.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import urllib.parse
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.errors import ClinometerError, ModelError, ModelNotFound
from clinometer.extras import require
from clinometer.storage.untrusted import limited, open_binary, parse_json, read_json

_WITHOUT_WEIGHTS = ("AutoConfig", "AutoTokenizer")
"""Classes that load no weights; a tokenizer would keep an option it does not know."""

ADAPTER = "adapter_config.json"
"""What a folder has that is an adapter (in peft's format) and not a whole model."""

_FILES = {".json", ".safetensors", ".bin", ".model", ".txt", ".jinja", ".py"}
"""Endings of what transformers opens."""

_SIZES = {
    "layer": 1000,
    "block_count": 1000,
    "head": 100_000,
    "expert": 100_000,
    "hidden": 10**7,
    "inner": 10**7,
    "intermediate": 10**7,
    "feed_forward": 10**7,
    "embd": 10**7,
    "embedding_length": 10**7,
    "embed": 10**9,
    "d_model": 10**7,
    "d_ff": 10**7,
    "vocab": 10**8,
    "n_positions": 10**9,
}
"""The most that a setting of a configuration can be, by a part of its name; the first part that
fits decides."""

_MADE_UP = 10**8
"""Weights that a folder may lack: a head that transformers starts at random, and warns of."""

_LAYERS = re.compile(
    r"(num|n)_((hidden|encoder|decoder)_)?layers?|(en|de)coder_layers|\w+\.block_count"
)
"""Names of the number of layers, each of which has weights."""

_MERGED = ("LORA", "LOHA", "LOKR", "IA3", "OFT", "BOFT", "ADALORA", "LN_TUNING")
"""Kinds of adapters that peft merges as they were trained."""

_FROM_BASE = ("pissa", "olora")
"""Starts of LoRA that are subtracted from the base model, and computed from it again."""

_UNDERSTOOD = (
    "peft_type",
    "auto_mapping",
    "peft_version",
    "task_type",
    "inference_mode",
    "revision",
    "base_model_name_or_path",
    "base_model_class",
    "parent_library",
    "megatron_core",
    "r",
    "lora_alpha",
    "lora_dropout",
    "lora_bias",
    "bias",
    "use_rslora",
    "use_dora",
    "rank_pattern",
    "alpha_pattern",
    "init_lora_weights",
    "fan_in_fan_out",
    "qalora_group_size",
    "target_modules",
    "target_parameters",
    "exclude_modules",
    "modules_to_save",
    "layers_to_transform",
    "layers_pattern",
    "trainable_token_indices",
    "ensure_weight_tying",
)
"""Settings of LoRA that peft restores, or that concern training alone."""

_LONGEST_HEADER = 100_000_000
"""Bytes that safetensors itself allows."""

_PATIENCE_S = 3.0
"""Seconds to wait for a connection."""


def pretrained(
    auto_class: Any,
    source: str | Path,
    *,
    trust_remote_code: bool = False,
    allow_pickle: bool = False,
    **options: Any,
) -> Any:
    """Return `auto_class.from_pretrained`, with code and pickles only where they are allowed."""
    folder = Path(source)
    if folder.is_dir():
        check_model_folder(folder)
    if auto_class.__name__ not in _WITHOUT_WEIGHTS:
        options["use_safetensors"] = None if allow_pickle else True
        if not trust_remote_code:
            _check_weights(auto_class, folder, options.get("config"))
    return auto_class.from_pretrained(
        source, trust_remote_code=trust_remote_code, **options
    )


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that would keep transformers busy or waiting: pipes, folders or links to
    nothing where it expects files, configurations without measure."""
    for file in sorted(folder.iterdir()):
        is_opened = file.suffix in _FILES
        if file.is_file() or (file.is_dir() and not is_opened):
            continue
        if file.exists() or is_opened:
            raise ModelError(
                f"model {str(folder)!r}: expected a plain file, found something else as "
                f"{file.name!r}: copy the model again"
            )
    for file in (folder / "config.json", folder / ADAPTER):
        if not file.is_file():
            continue
        try:
            tensors = None if file.name == ADAPTER else _tensors(folder)
            _check_sizes(read_json(file), tensors)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ModelError(
                f"model {str(folder)!r} cannot be loaded: expected a sound {file.name}: {reason}"
            ) from error


def _check_weights(auto_class: Any, folder: Path, config: Any) -> None:
    """Refuse a configuration of far more weights than the folder has: transformers would make them
    up, as many as memory holds, and then more."""
    files = list(folder.rglob("*.safetensors"))
    if not files:
        return
    import torch
    import transformers

    try:
        if config is None:
            config = transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=False
            )
        with torch.device("meta"):
            model = auto_class.from_config(config, trust_remote_code=False)
    except Exception:
        return  # what is wrong with it is said where it is loaded
    needed = sum(weight.numel() for weight in model.parameters())
    # Weights of four bits are the smallest.
    largest_number = 2 * sum(file.stat().st_size for file in files)
    if needed > largest_number + _MADE_UP:
        raise ModelError(
            f"model {str(folder)!r} cannot be loaded: its config.json needs {needed:,} weights, "
            f"and its files hold at most {largest_number:,}: copy the model again"
        )


def _tensors(folder: Path) -> int | None:
    """Return how many tensors the weights of a folder have; None where they are elsewhere, or
    damaged."""
    files = list(folder.glob("*.safetensors"))
    if files and not any(folder.glob("*.index.json")):
        with contextlib.suppress(ValueError):
            return sum(len(weights_header(file)) for file in files)
    return None


def check_gguf(file: Path) -> None:
    """Refuse a .gguf file that would keep transformers busy; what its header holds is counted in a
    process that is ended."""
    require("reading GGUF files", "gguf")

    def sizes() -> str:
        from gguf import GGUFReader

        reader = GGUFReader(file)
        numbers = {}
        for name, field in reader.fields.items():
            if len(field.types) == 1:
                value = field.parts[-1][0].item()
                if isinstance(value, int):
                    numbers[name] = value
        return json.dumps([numbers, len(reader.tensors)])

    try:
        with open_binary(file) as stream:
            size = os.fstat(stream.fileno()).st_size
        megabytes = 1024 + (size >> 20)
        numbers, tensors = parse_json(limited(sizes, seconds=60, megabytes=megabytes))
        _check_sizes(numbers, tensors)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"model {file.name!r} cannot be loaded: expected a sound .gguf file: {error}"
        ) from error


def _check_sizes(config: Any, tensors: int | None) -> None:
    """Raise for a network of a size that no machine holds, or of more layers than the weights have
    `tensors`; building it would take for ever."""
    if not isinstance(config, dict):
        raise ValueError(f"expected an object, found {type(config).__name__}")
    for name, value in config.items():
        if isinstance(value, dict):
            _check_sizes(value, tensors)
        limits = (size for part, size in _SIZES.items() if part in name)
        limit = next(limits, None)
        if tensors is not None and _LAYERS.fullmatch(name):
            limit = tensors
        if isinstance(value, int) and limit is not None and not -1 <= value <= limit:
            raise ValueError(f"expected {name} of at most {limit:,}, found {value:,}")


def adapter_base(folder: Path) -> str:
    """Return the base model that an adapter names: a folder, relative to its own, or a hub id."""
    try:
        config = read_json(folder / ADAPTER)
        base = str(config["base_model_name_or_path"])
        megatron_config = config.get("megatron_config")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"adapter {str(folder)!r}: expected base_model_name_or_path in its {ADAPTER} "
            f"({type(error).__name__}: {error})"
        ) from error
    if megatron_config:
        raise ModelError(
            f"adapter {str(folder)!r}: its megatron_config would import a module that the adapter "
            "names: remove it"
        )
    base_folder = (folder / base).resolve()
    if base_folder.is_dir():
        if (base_folder / ADAPTER).is_file():
            raise ModelError(
                f"adapter {str(folder)!r}: expected a whole model as its base, found "
                f"another adapter in {base!r}: merge that one first"
            )
        return str(base_folder)
    if base.startswith((".", "/", "~")):
        raise ModelNotFound(
            f"adapter {str(folder)!r}: its base model {base!r} is not a folder: put it there, or "
            f"correct base_model_name_or_path in {ADAPTER}"
        )
    return base


def _check_understood(folder: Path, *, exact: bool) -> None:
    """Refuse an adapter that peft would restore otherwise than it was trained, without a word.

    tests/models/local/test_load_adapters.py compares every kind that is let through with the model
    that peft itself had before saving it. `exact`: the base model is in float32.
    """
    problem = _not_understood(read_json(folder / ADAPTER), exact=exact)
    if problem is None:
        return
    raise ModelError(
        f"adapter {str(folder)!r}: cannot be restored as it was trained: found {problem}; save it "
        "as plain LoRA (peft: save_pretrained with path_initial_model_for_weight_conversion), or "
        "merge it where it was trained"
    )


def _not_understood(config: Any, *, exact: bool) -> str | None:
    """Return what of an adapter's configuration peft would restore otherwise; None for nothing."""
    kind = str(config.get("peft_type"))
    if kind not in _MERGED:
        return f"peft_type {kind}; expected one of {', '.join(_MERGED)}"
    if kind != "LORA":
        return None
    strange = [key for key, value in config.items() if value and key not in _UNDERSTOOD]
    if strange:
        return f"{min(strange)}, which changes what the adapter does"
    start = config.get("init_lora_weights", True)
    if start in _FROM_BASE and not exact:
        return (
            f"init_lora_weights {start}, which is exact with --load dtype=float32 alone"
        )
    if start not in (True, False, None, "gaussian", "orthogonal", *_FROM_BASE):
        return f"init_lora_weights {start}, which changes the base model in a way not stored"
    return None


def _adapter_weights(folder: Path) -> Path:
    """Return the file with the weights of an adapter.

    Without it peft would unpickle another file, or look for one on the hub.
    """
    weights = folder / "adapter_model.safetensors"
    if not weights.is_file():
        raise ModelNotFound(f"adapter {str(folder)!r}: expected {weights.name} in it")
    return weights


def check_adapter(folder: Path) -> None:
    """Refuse an adapter that cannot be merged, as far as its files say so, before its base model is
    loaded."""
    adapter_base(folder)
    _check_understood(folder, exact=True)
    weights = _adapter_weights(folder)
    try:
        tensors = weights_header(weights)
    except ValueError as error:
        raise ModelError(
            f"adapter {str(folder)!r}: expected a sound {weights.name}, found one that is cut "
            "short or damaged; copy it again"
        ) from error
    if not tensors:
        raise ModelError(
            f"adapter {str(folder)!r}: expected weights in {weights.name}, found none; save it "
            "again"
        )


def merged_adapter(model: Any, folder: Path) -> Any:
    """Return the model with the adapter of a peft folder merged into its weights.

    Every tensor of the folder must have been read and every weight of the adapter given: peft
    ignores the former and initialises the latter, with a warning at most.
    """
    require("a model with an adapter", "peft")
    import peft

    weights = _adapter_weights(folder)
    _check_understood(folder, exact=str(model.dtype) == "torch.float32")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Merging into an output layer that is also the embedding would change both.
            warnings.filterwarnings("error", message=".*tie_word_embeddings.*")
            adapted = peft.PeftModel.from_pretrained(model, folder)
            state = peft.get_peft_model_state_dict(adapted, save_embedding_layers=False)
            strays = sorted(state.keys() ^ weights_header(weights).keys())
            if strays:
                raise ValueError(
                    f"the adapter and its configuration disagree on {strays[0]!r}"
                )
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
    instead: str | None = "--allow remote-code",
) -> Iterator[None]:
    """Load without output, and turn a failure into one line with the next step.

    `instead` is the option that would allow a model's own code; None where there is none.
    """
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():  # of the library's own future
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    except ClinometerError:
        raise
    except Exception as error:
        raise _explained(name, Path(source), error, allow_pickle, instead) from error
    finally:
        if bars:
            logging.enable_progress_bar()


def _explained(
    name: str, folder: Path, error: Exception, allow_pickle: bool, instead: str | None
) -> ModelError:
    text = " ".join(str(error).split()) or type(error).__name__
    if "trust_remote_code" in text:
        wanted = f"unless you ask for it: {instead}" if instead else "by this command"
        return ModelError(
            f"model {name!r} brings its own code, which is not run {wanted}"
        )
    if "gated repo" in text:
        return ModelNotFound(
            f"model {name!r} is gated: ask for access on its page of the Hugging Face hub, "
            "then run 'hf auth login'"
        )
    pickled = "safetensors" in text and "pytorch_model.bin" in text
    if folder.is_dir():
        pickled = not any(folder.glob("*.safetensors")) and any(folder.glob("*.bin"))
    if not allow_pickle and pickled:
        wanted = (
            "read only with --allow pickle" if instead else "not read by this command"
        )
        return ModelError(
            f"model {name!r} has no safetensors weights; pickled weights can run code and are "
            f"{wanted}"
        )
    if isinstance(error, OSError) and not folder.is_dir():
        return ModelNotFound(
            f"model {name!r}: not in the local cache, and the Hugging Face hub did not give "
            f"it: check the name and the connection ({text[:100]})"
        )
    damaged = damaged_weights(folder)
    if damaged is not None:
        return ModelError(
            f"model {name!r} cannot be loaded: {damaged} is cut short or damaged: copy or download "
            "it again"
        )
    return ModelError(f"model {name!r} cannot be loaded: {text[:200]}")


def damaged_weights(folder: Path) -> Path | None:
    """Return a safetensors file of the folder that is not as long as its header says; None: all
    are."""
    if not folder.is_dir():
        return None
    for file in sorted(folder.glob("*.safetensors")):
        try:
            weights_header(file)
        except ValueError:
            return file
    return None


def weights_header(file: Path) -> dict[str, dict[str, Any]]:
    """Return the tensors that a safetensors file holds; ValueError where its length says
    otherwise."""
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
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
    ) as error:
        raise ValueError(f"{file}: cut short or damaged") from error
    return header


def hub_reachable() -> bool:
    """Return whether the hub can be reached; behind a proxy only the proxy knows, so assume it can.

    The hub's own client tries an unreachable host six times for every file, which makes a mistyped
    name cost half a minute behind a closed network. One quick connection test decides instead.
    """
    from huggingface_hub import constants

    setting = os.environ.get("HF_HUB_OFFLINE", "")
    if constants.HF_HUB_OFFLINE or setting in {"1", "true", "True"}:
        return False
    if urllib.request.getproxies().get("https"):
        return True
    address = urllib.parse.urlsplit(constants.ENDPOINT)
    usual_port = 80 if address.scheme == "http" else 443
    target = (address.hostname or "", address.port or usual_port)
    try:
        socket.create_connection(target, timeout=_PATIENCE_S).close()
    except OSError:
        return False
    return True


def cached(model: str) -> bool:
    """Return whether a hub model's configuration and weights are in the local cache."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return False
    config = try_to_load_from_cache(model, "config.json")
    if not isinstance(config, str):
        return False
    return any(
        file.suffix in (".safetensors", ".bin")
        for file in Path(config).parent.iterdir()
    )
