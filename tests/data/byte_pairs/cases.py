#!/usr/bin/env python3
"""Makes encoder.json, vocab.bpe and cases.json with Hugging Face's tokenizers (0.23): python3 cases.py TEXT"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

WORDS = ("Straße für Übermut, naïve café; Привет, мир! Как дела? 日本語のテキスト。 안녕하세요 שלום עולם ½ ٣٤ 🙂🙂 "
         "don't we'll I've they're he'd I'm it's\n")
TEXTS = ["", "Hello world", "  leading and   inner   blanks  ", "tabs\t\tand\r\nlines\n\n\n  x",
         "don't we'll I've they're he'd I'm it's 'S 'lls ' t", "1234567 3.14 1,000 ½² ٣٤ Ⅷ x1y2",
         "Straße naïve cafe\u0301 Привет 日本語テキスト 안녕 שלום", "🙂🙂 a🙂b \U0001F468\u200d\U0001F469\u200d\U0001F467",
         "a\u00a0b\u3000\u3000c\u2028d\u0085e\u180e\u180ef\u200bg\u1680h", "\x00\x01\x1c\x1c\x7f x",
         "!!! ?!... --- <|endoftext|> @#$%", "the thethethe  the\n the", "\u0300\u0301 a\u0300", "a" * 36, "ſ K ı İ ŉ's",
         "\U000e0001\uffff\ue000"]
ALPHABET = list("abcdeth  \n't!1é日\u00a0\u2003🙂ßЖ٣\u0301")


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    pairs = Tokenizer(models.BPE())
    pairs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    trainer = trainers.BpeTrainer(vocab_size=416, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    pairs.train_from_iterator([text[:300_000], 200 * WORDS], trainer)
    model = json.loads(pairs.to_str())["model"]
    numbers = sorted(model["vocab"], key=model["vocab"].get) + ["<|endoftext|>"]
    random.seed(1)
    texts = TEXTS + ["".join(random.choice(ALPHABET) for _ in range(random.randint(1, 40))) for _ in range(40)]
    cases = [{"text": one, "tokens": pairs.encode(one).ids} for one in texts + [text[5000:5600]]]
    folder = Path(__file__).resolve().parent
    (folder / "encoder.json").write_text(json.dumps({token: number for number, token in enumerate(numbers)}) + "\n")
    (folder / "vocab.bpe").write_text("#version: 0.2\n" + "".join(" ".join(merge) + "\n" for merge in model["merges"]))
    (folder / "cases.json").write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
