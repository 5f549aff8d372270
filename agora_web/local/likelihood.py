"""Likelihoods from the demo model: its own file, read by transformers, since its server gives none of prompts.

Slow and large for what it is (half a gigabyte once loaded), so only the training worker ever asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from agora_web.local.errors import LocalServiceError
from agora_web.local.wheels import demo_model
from training.learner.likelihood import LikelihoodUnavailable

PROMPT_TOKENS, REPLY_TOKENS = 1_500, 128  # of a prompt the end, of a reply the beginning


class DemoModelLikelihood:
    """Fills `training.learner.likelihood.LikelihoodScorer`. The model is loaded at first use and then kept."""

    def likelihoods(self, prompts: Sequence[str], reply: str) -> list[float]:
        """See the protocol. Takes about a second a prompt on one core, and half a minute more the first time."""
        tokenizer, model = _loaded()
        said = tokenizer(reply, add_special_tokens=False).input_ids[:REPLY_TOKENS]
        if not said:
            return [0.0] * len(prompts)
        with _one_thread():
            return [_likelihood(model, _asked(tokenizer, prompt), said) for prompt in prompts]


def _asked(tokenizer: Any, prompt: str) -> list[int]:
    messages = [{"role": "user", "content": prompt}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    tokens: list[int] = tokenizer(text, add_special_tokens=False).input_ids
    return tokens[-PROMPT_TOKENS:]


def _likelihood(model: Any, asked: list[int], said: list[int]) -> float:
    import torch

    with torch.inference_mode():
        logits = model(torch.tensor([[*asked, *said]])).logits[0, len(asked) - 1 : -1]
        chances = logits.log_softmax(-1).gather(1, torch.tensor(said)[:, None])
    return float(chances.sum())


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Any]:
    """Tokenizer and model from the demo model's GGUF file."""
    if find_spec("gguf") is None:
        raise LikelihoodUnavailable(
            _("The Python package gguf is not installed. Run `make run` again, which installs everything pinned.")
        )
    try:
        path = demo_model()
    except LocalServiceError as error:
        raise LikelihoodUnavailable(str(error)) from error
    return _tokenizer(path), _model(path)


def _tokenizer(path: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)


def _model(path: Path) -> Any:
    # not by `from_pretrained`, which wants a package more (accelerate) for a model that fits any memory
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    reading: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    reading.tqdm = lambda tensors, **_: tensors  # its bar would fill the worker's log
    config = LlamaConfig(**reading.load_gguf_checkpoint(str(path))["config"])
    with torch.device("meta"):
        shape = LlamaForCausalLM(config)
    weights = reading.load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=shape)["tensors"]
    model: Any = LlamaForCausalLM(config)
    lacking, unknown = model.load_state_dict(weights, strict=False)
    if set(lacking) - {"lm_head.weight"} or unknown:  # the head is the embedding, tied
        raise LikelihoodUnavailable(_("The demo model's file is not one that this version of transformers reads."))
    model.tie_weights()
    return model.eval()
