"""A GGUF file's tokenizer metadata into `tokenizer.json` and `chat_template.jinja`.

Knows byte-level BPE with the pre-tokenizers listed in `PRE_TOKENIZERS`; every other kind is an error that names it.
The split patterns are those of the models' own Hugging Face tokenizers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

from engine.chat_template import ChatTemplate
from engine.errors import ModelFolderError
from engine.models.gguf_metadata import GgufMetadata
from engine.tokenizer import TEMPLATE_FILE, TOKENIZER_FILE

# Token types of GGUF that this reader treats specially.
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4

_TURN_ENDS = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
    "<|END_OF_TURN_TOKEN|>",
    "</s>",
}

_CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@dataclass(frozen=True, slots=True)
class _Scheme:
    """How text is cut before merging. `ignore_merges`: a word that is in the vocabulary stays whole."""

    pre_tokenizer: Callable[[], PreTokenizer]
    normalizer: Callable[[], Normalizer] | None = None
    ignore_merges: bool = False


def _split(numbers: str) -> Callable[[], PreTokenizer]:
    """The pattern of Llama 3 and Qwen 2, which differ in how many digits stay together."""
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + numbers + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|"
        r"\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )


def _gpt2() -> PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _smollm() -> PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


_LLAMA3 = _Scheme(_split(r"\p{N}{1,3}"), ignore_merges=True)
PRE_TOKENIZERS: dict[str, _Scheme] = {
    "smollm": _Scheme(_smollm),
    "gpt-2": _Scheme(_gpt2),
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "qwen2": _Scheme(_split(r"\p{N}"), normalizer=normalizers.NFC),
}


def write_tokenizer(metadata: GgufMetadata, folder: Path) -> None:
    """Write `tokenizer.json` and `chat_template.jinja` into `folder`. Errors: `ModelFileError`."""
    text, template = tokenizer_json(metadata), chat_template(metadata)
    (folder / TOKENIZER_FILE).write_text(text, encoding="utf-8", newline="\n")
    (folder / TEMPLATE_FILE).write_text(template, encoding="utf-8", newline="\n")


def tokenizer_json(metadata: GgufMetadata) -> str:
    """The tokenizer in Hugging Face's format; token ids are positions in the GGUF's list."""
    scheme = _scheme(metadata)
    tokens = metadata.texts("tokenizer.ggml.tokens")
    vocab = {token: i for i, token in enumerate(tokens)}
    if len(vocab) != len(tokens) or not tokens:
        metadata.fail("is damaged: its vocabulary is empty or holds a token twice")
    try:
        model = BPE(vocab, _merges(metadata), ignore_merges=scheme.ignore_merges)
    except Exception as error:  # tokenizers raises bare exceptions
        metadata.fail(f"is damaged: its merges do not fit its vocabulary ({error})")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = scheme.pre_tokenizer()
    if scheme.normalizer:
        tokenizer.normalizer = scheme.normalizer()
    tokenizer.decoder = decoders.ByteLevel()
    for token, kind in zip(tokens, token_types(metadata, len(tokens)), strict=True):
        if kind in {UNKNOWN, CONTROL}:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif kind == USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, special=False, normalized=False)])
    return str(tokenizer.to_str())


def chat_template(metadata: GgufMetadata) -> str:
    """The file's own chat template, or ChatML where the vocabulary is made for it; tried on a short conversation."""
    tokens = metadata.texts("tokenizer.ggml.tokens")
    if "tokenizer.chat_template" in metadata:
        source = metadata.text("tokenizer.chat_template")
    elif {"<|im_start|>", "<|im_end|>"} <= set(tokens):
        source = _CHATML
    else:
        metadata.fail("has no chat template; use the file of an instruction-tuned (chat) model")

    def token(key: str) -> str:
        index = metadata.whole(f"tokenizer.ggml.{key}_token_id", -1)
        return tokens[index] if 0 <= index < len(tokens) else ""

    try:
        template = ChatTemplate(source, name=metadata.path.name, bos_token=token("bos"), eos_token=token("eos"))
        template.render([{"role": "user", "content": "Hello"}])
    except ModelFolderError as error:
        metadata.fail(f"cannot be used: {str(error).rstrip('.')}")
    return source


def stop_token_ids(metadata: GgufMetadata) -> tuple[int, ...]:
    """Ids that end a turn: end of sequence first, end of turn, then control tokens known to end one."""
    tokens = metadata.texts("tokenizer.ggml.tokens")
    types = token_types(metadata, len(tokens))
    stops = [metadata.whole("tokenizer.ggml.eos_token_id")]
    stops += [metadata.whole(f"tokenizer.ggml.{k}_token_id", -1) for k in ("eot", "eom")]
    stops += [
        i for i, (token, kind) in enumerate(zip(tokens, types, strict=True)) if kind == CONTROL and token in _TURN_ENDS
    ]
    return tuple(dict.fromkeys(i for i in stops if i >= 0))


def token_types(metadata: GgufMetadata, count: int) -> list[int]:
    """The type of each of `count` tokens."""
    types = metadata.wholes("tokenizer.ggml.token_type")
    if len(types) != count:
        metadata.fail(f"is damaged: it has {count} tokens and {len(types)} token types")
    return types


def _scheme(metadata: GgufMetadata) -> _Scheme:
    model = metadata.text("tokenizer.ggml.model")
    if model != "gpt2":
        metadata.fail(f"has a tokenizer of kind {model!r}; only byte-level BPE ('gpt2') is supported")
    name = metadata.text("tokenizer.ggml.pre")
    if name not in PRE_TOKENIZERS:
        metadata.fail(f"uses the pre-tokenizer {name!r}; supported are {', '.join(PRE_TOKENIZERS)}")
    return PRE_TOKENIZERS[name]


def _merges(metadata: GgufMetadata) -> list[tuple[str, str]]:
    pairs = []
    for line in metadata.texts("tokenizer.ggml.merges"):
        left, _, right = line.partition(" ")
        if not left or not right or " " in right:
            metadata.fail(f"is damaged: {line[:60]!r} is not a merge of two tokens")
        pairs.append((left, right))
    return pairs
