"""What no labeller needs to read is masked: e-mail addresses, telephone and card numbers, accounts, keys, passwords.

By patterns alone, which are quick, always the same, and never ask a model. They know nothing of names: who is spoken
of stays readable, as does everything that people say of themselves in words. In doubt a number is masked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

EMAIL, PHONE, CARD, ACCOUNT, KEY, NUMBER = "[e-mail]", "[phone]", "[card]", "[account]", "[key]", "[number]"
MASKS = (EMAIL, PHONE, CARD, ACCOUNT, KEY, NUMBER)

LEAST_DIGITS, MOST_DIGITS = 7, 15  # of a telephone number (ITU-T E.164 allows fifteen)
CARD_DIGITS = range(12, 20)
LONG_TOKEN = 20  # characters from which a word that looks like chance is taken for a key
MIXED = 3.2  # bits a character: words are below, keys above

_BLOCK = re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL)
_NAMED = re.compile(  # "the password is swordfish" says it in words; "the secret is patience" need not be one
    r"(?i)\b(?:(pass(?:word|wort|code|phrase)|pwd|kennwort|pin)\b(\s*(?:is|ist|[:=])\s*)"
    r"|(secret|token|api[ _-]?key|access[ _-]?key)\b(\s*(?:[:=]|is(?= *\S*\d))\s*))(?!\[)([\"']?)([^\s\"']+)\5"
)
_KNOWN = re.compile(
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bxox[abposr]-[\w-]{8,}"
    r"|\bA(?:KIA|SIA)[A-Z0-9]{12,}|\bAIza[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|\bglpat-[\w-]{12,}"
)
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\"'\\]+@[\w-]+(?:\.[\w-]+)+", re.UNICODE)
_TOKEN = re.compile(rf"(?<![\w/+=-])[A-Za-z0-9/+_-]{{{LONG_TOKEN},}}={{0,2}}(?![\w/+=-])")
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")
_DIGITS = re.compile(r"(?<![\w.,])[+(]?\d(?:[ \t().\-/\u00a0\u2009\u2011]{0,3}\d)+(?!\w)")
# What has many digits and is nobody's: days, hours, spans of years, and numbers with their thousands set apart.
_HARMLESS = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?:[ T]\d{1,2})?|\d{1,2}[-./]\d{1,2}[-./]\d{4}(?: \d{1,2})?"
    r"|(?:1[89]|20)\d\d ?[-/] ?(?:1[89]|20)\d\d|\d{1,3}(?:\.\d{3})+|\d{1,3}(?: \d{3})+"
)


def masked(text: str) -> str:
    """The text with what is personal replaced by what it was, in brackets. Masking twice changes nothing more."""
    text = _BLOCK.sub(KEY, text)
    text = _NAMED.sub(lambda found: f"{found[1] or found[3]}{found[2] or found[4]}{KEY}", text)
    text = _KNOWN.sub(KEY, text)
    text = _EMAIL.sub(EMAIL, text)
    text = _TOKEN.sub(_if(_like_a_key, KEY), text)
    text = _ACCOUNT.sub(ACCOUNT, text)
    return _DIGITS.sub(_number, text)


def _if(holds: Callable[[str], bool], mask: str) -> Callable[[re.Match[str]], str]:
    return lambda found: mask if holds(found[0]) else found[0]


def _number(found: re.Match[str]) -> str:
    """A run of digits: a card where its check digit is right, else a telephone number or another long one."""
    said = found[0]
    digits = re.sub(r"\D", "", said)
    if len(digits) < LEAST_DIGITS or _HARMLESS.fullmatch(said):
        return said
    if len(digits) in CARD_DIGITS and luhn(digits):
        return CARD
    if len(digits) > MOST_DIGITS:
        return NUMBER
    return PHONE if len(said) > len(digits) or digits[0] == "0" else NUMBER


def luhn(digits: str) -> bool:
    """Whether the last digit checks the others, as on payment cards (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def _like_a_key(token: str) -> bool:
    """Whether a long token is digits and letters mixed as by chance; words with hyphens, paths and the like are not."""
    if not re.search(r"\d", token) or not re.search(r"[A-Za-z]", token):
        return False
    return _bits(token) >= MIXED or re.fullmatch(r"[0-9a-fA-F-]+", token) is not None


def _bits(token: str) -> float:
    """The entropy of the token's characters, in bits a character."""
    shares = [count / len(token) for count in Counter(token).values()]
    return -sum(share * math.log2(share) for share in shares)
