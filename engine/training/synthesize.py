"""The target writes its own training text, conversation by conversation, and goes on where it was stopped.

Slots of a batch decoder are filled again as soon as conversations end. Knows outlines and tokens; `prompts.py` knows
what is asked, `filters.py` what is dropped, `text_parts.py` where it goes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from engine import progress as steps
from engine.config import Range
from engine.errors import ConfigError
from engine.tokenizer import Tokenizer
from engine.training.batch_decoder import BatchDecoder, sample
from engine.training.chat_pieces import ChatPieces
from engine.training.conversations import Conversation
from engine.training.filters import Seen, ends_in_loop, repeats_itself
from engine.training.prompts import PROMPTS_SHARE, Outline, PromptMaker
from engine.training.text_parts import TextParts
from engine.training.torch_target import TorchTarget

LONGEST_USER, FEWEST_USER = 200, 3  # tokens that the model may write as the user
_REPLY = (0.8, 50, 0.95)  # temperature, top-k, top-p of sampled replies
_USER = (1.0, 1000, 0.98)  # … and of what the model writes as the user
_LOOK_EVERY = 16  # tokens between two looks for loops
_ROOM = 100  # tokens that must be left for another turn
_GIVE_UP = 20  # times as many conversations dropped as kept


@dataclass(frozen=True, slots=True)
class WritingPlan:
    """How much is written, and how. `batch`: conversations at once."""

    tokens: int
    batch: int = 64
    longest_reply: int = 360
    longest: int = 1024
    prompts_share: float = PROMPTS_SHARE
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "tokens": Range(1000, 10**10, ""),
            "batch": Range(1, 1024, ""),
            "longest_reply": Range(8, 8192, ""),
            "longest": Range(64, 32768, ""),
        }
        for key, allowed in ranges.items():
            allowed.check(key, getattr(self, key), int)
        Range(0.0, 1.0, "").check("prompts_share", self.prompts_share, float)

    @property
    def longest_user(self) -> int:
        """Tokens of a given prompt that are used: at least half of a conversation, more where replies are short."""
        return max(self.longest // 2, self.longest - self.longest_reply - _ROOM)


@dataclass(slots=True)
class _Draft:
    """A conversation being written in a slot."""

    outline: Outline
    ids: list[int]
    spans: list[tuple[int, int]] = field(default_factory=list)
    turn: int = 0
    began: int = 0  # where what is being written began
    replying: bool = False
    waiting: list[int] = field(default_factory=list)  # tokens that the cache does not hold yet

    def add(self, tokens: list[int] | tuple[int, ...]) -> None:
        """Tokens that the model does not write."""
        self.ids += tokens
        self.waiting += tokens


class Writer:
    """Writes conversations into the parts of a folder until there are enough tokens.

    `states`: a name for the hidden states, which are then written beside each part as they come by.
    """

    def __init__(
        self,
        target: TorchTarget,
        tokenizer: Tokenizer,
        folder: Path,
        plan: WritingPlan,
        prompts: tuple[str, ...] = (),
        states: str = "",
    ) -> None:
        self._plan, self._tokenizer = plan, tokenizer
        self._pieces = ChatPieces.of(tokenizer)
        self._stops = tokenizer.stop_ids
        self._seen = Seen()
        self._parts = TextParts(folder, states)
        seed = plan.seed + 1000 * self._parts.count
        self._maker = PromptMaker(seed, prompts, plan.prompts_share)
        self._have = 0
        for conversation in self._parts.stored():
            self._have += len(conversation.ids)
            self._seen.add(_said(conversation))
            self._remember(conversation)
        self._random = torch.Generator(target.device).manual_seed(seed)
        room = plan.longest + LONGEST_USER
        self._decoder = BatchDecoder(target, plan.batch, room, keep_states=bool(states))
        self._slots: list[_Draft | None] = [None] * plan.batch
        self.kept = self.dropped = 0

    def write(self, progress: steps.ProgressCallback = steps.ignore, cancel: threading.Event | None = None) -> int:
        """Write until the plan is met; tokens there are then. Raises `Cancelled` with what is finished on disk."""
        try:
            while self._have < self._plan.tokens:
                steps.check(cancel)
                progress(steps.Progress("Writing text", self._written(), self._plan.tokens, " tokens"))
                self._fill()
                self._step()
                if self.dropped > _GIVE_UP * (self._plan.batch + self.kept):
                    raise ConfigError("Nearly everything that this model writes is repetition: it cannot train a head.")
                if self._parts.full:
                    self._parts.save()
        finally:
            self._parts.save()
        return self._have

    def _written(self) -> int:
        """Tokens for the progress: of finished conversations, and half of those under way, for some will be dropped."""
        under_way = sum(len(draft.ids) for draft in self._slots if draft is not None)
        return min(self._plan.tokens, self._have + under_way // 2)

    def _fill(self) -> None:
        """New conversations for free slots."""
        for slot, draft in enumerate(self._slots):
            if draft is None:
                self._slots[slot] = self._open()
                self._decoder.lengths[slot] = 0

    def _open(self) -> _Draft:
        draft = _Draft(self._maker.outline(), [])
        draft.add(self._pieces.start)
        self._let_user_speak(draft)
        return draft

    def _let_user_speak(self, draft: _Draft) -> None:
        """The user's next words, or the model's turn to invent them."""
        said = draft.outline.user[draft.turn]
        draft.replying = said is not None
        if said is not None:
            draft.add(self._tokenizer.encode(said)[: self._plan.longest_user])
            draft.add(self._pieces.to_reply)
        draft.began = len(draft.ids)

    def _step(self) -> None:
        """One token for every slot. What a slot has to read before goes alone, so that the others are not padded."""
        drafts = [(slot, draft) for slot, draft in enumerate(self._slots) if draft is not None]
        for slot, draft in drafts:
            if len(draft.waiting) > 1:
                self._read(slot, draft)
        slots = [slot for slot, _ in drafts]
        logits = self._decoder.forward(slots, [draft.waiting for _, draft in drafts])
        for (slot, draft), token in zip(drafts, self._draw(logits, [d for _, d in drafts]), strict=True):
            draft.ids.append(token)
            draft.waiting = [token]
            self._advance(slot, draft, token)

    def _read(self, slot: int, draft: _Draft) -> None:
        """All waiting tokens but the last."""
        self._decoder.forward([slot], [draft.waiting[:-1]])
        draft.waiting = draft.waiting[-1:]

    def _draw(self, logits: torch.Tensor, drafts: list[_Draft]) -> list[int]:
        out = self._decoder.best.clone()
        for rows, how in (
            ([i for i, d in enumerate(drafts) if d.replying and not d.outline.greedy], _REPLY),
            ([i for i, d in enumerate(drafts) if not d.replying], _USER),
        ):
            if rows:
                out[rows] = sample(logits[rows], *how, self._random)
        return [int(token) for token in out]

    def _advance(self, slot: int, draft: _Draft, token: int) -> None:
        """What the drawn token means for a conversation."""
        written = len(draft.ids) - draft.began
        if draft.replying:
            self._advance_reply(slot, draft, token, written)
        elif token in self._stops:
            draft.ids.pop()
            draft.waiting.clear()
            if written - 1 < FEWEST_USER:
                self._drop(slot)
                return
            draft.add(self._pieces.to_reply)
            draft.began, draft.replying = len(draft.ids), True
        elif written >= LONGEST_USER:
            self._drop(slot)

    def _advance_reply(self, slot: int, draft: _Draft, token: int, written: int) -> None:
        ended, full = token in self._stops, len(draft.ids) >= self._plan.longest
        if not ended and written % _LOOK_EVERY == 0 and ends_in_loop(draft.ids[draft.began :]):
            self._finish(slot, draft)  # with the turns before this one, if any
        elif ended or full or written >= self._plan.longest_reply:
            draft.spans.append((draft.began, len(draft.ids)))
            draft.turn += 1
            room = len(draft.ids) + _ROOM < self._plan.longest
            usual = token == self._pieces.to_user[0]  # the end-of-turn token that the template writes, too
            if usual and room and draft.turn < len(draft.outline.user) and not self._poor(draft):
                draft.add(self._pieces.to_user[1:])
                self._let_user_speak(draft)
            else:
                self._finish(slot, draft)

    def _poor(self, draft: _Draft) -> bool:
        first, end = draft.spans[-1]
        return end - first < 2 or repeats_itself(draft.ids[first:end])

    def _finish(self, slot: int, draft: _Draft) -> None:
        """Keep the conversation up to its last good reply, if there is one and nothing like it is there already."""
        if draft.spans and self._poor(draft):
            draft.spans.pop()
        end = draft.spans[-1][1] if draft.spans else 0
        conversation = Conversation(np.array(draft.ids[:end], np.int32), tuple(draft.spans))
        if not end or not self._seen.add(_said(conversation)):
            self._drop(slot)
            return
        states = self._decoder.states
        self._parts.add(conversation, states.take(slot, int(self._decoder.lengths[slot]), end) if states else None)
        self.kept += 1
        self._have += len(conversation.ids)
        self._remember(conversation)
        self._slots[slot] = None

    def _remember(self, conversation: Conversation) -> None:
        """Let later conversations be about this one's first reply."""
        self._maker.keep(self._tokenizer.decode(_said(conversation)).strip())

    def _drop(self, slot: int) -> None:
        self.dropped += 1
        self._slots[slot] = None


def _said(conversation: Conversation) -> list[int]:
    """What makes a conversation: its first reply."""
    first, end = conversation.spans[0]
    return [int(i) for i in conversation.ids[first:end]]
