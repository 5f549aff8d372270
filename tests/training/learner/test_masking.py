"""What is personal never comes through, what is not stays as it was said."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.learner.masking import ACCOUNT, CARD, EMAIL, KEY, NUMBER, PHONE, luhn, masked

AROUND = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="@"), max_size=30)
NAMES = st.text(string.ascii_letters + string.digits + "._+-", min_size=1, max_size=20)
HOSTS = st.lists(st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=10), min_size=2, max_size=4)
SEPARATORS = st.sampled_from([" ", "-", ".", "/", " - ", ""])


def checked(digits: str) -> str:
    """The digits with the check digit that makes a card of them."""
    return next(digits + last for last in string.digits if luhn(digits + last))


def digits_of(text: str) -> str:
    return re.sub(r"\D", "", text)


@given(AROUND, NAMES, HOSTS, AROUND)
def test_no_e_mail_address_comes_through(before: str, name: str, host: list[str], after: str) -> None:
    address = f"{name}@{'.'.join(host)}"
    assert address not in masked(f"{before} {address} {after}")
    assert "@" not in masked(f"{before} {address} {after}")


@given(AROUND, st.text(string.digits, min_size=11, max_size=18), SEPARATORS, AROUND)
def test_no_card_number_comes_through_however_it_is_set(before: str, digits: str, apart: str, after: str) -> None:
    number = checked(digits)
    written = apart.join(number[at : at + 4] for at in range(0, len(number), 4))
    before, after = re.sub(r"[\d.,\w+(]+$", "", before), re.sub(r"\d", "", after)
    assert number not in digits_of(masked(f"{before} {written} {after}"))


@given(st.integers(1, 99), st.lists(st.text(string.digits, min_size=2, max_size=4), min_size=3, max_size=4), SEPARATORS)
def test_no_telephone_number_comes_through(country: int, groups: list[str], apart: str) -> None:
    number = f"+{country} {apart.join(groups)}"
    said = masked(f"Call me at {number}, please.")
    if len(digits_of(number)) >= 7:
        assert digits_of(number) not in digits_of(said)
        assert said in (f"Call me at {mask}, please." for mask in (PHONE, CARD, NUMBER))


@given(st.text(string.ascii_letters + string.digits, min_size=24, max_size=64).filter(
    lambda key: re.search(r"\d", key) and re.search(r"[a-z]", key) and len(set(key)) > 14))  # fmt: skip
def test_no_key_comes_through(key: str) -> None:
    assert masked(f"it is {key} as sent") == f"it is {KEY} as sent"
    assert key not in masked(f"sk-{key}")


@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = masked(text)
    assert masked(once) == once


@given(st.text(string.ascii_letters + " ,.!?'äöüßéñ漢字", max_size=200).filter(
    lambda text: not re.search(r"(?i)pass|pwd|secret|pin|token|key|kennwort|eyJ", text)))  # fmt: skip
def test_words_alone_stay_as_they_were(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(("said", "shown"), [
    ("Write to Ana.Silva+trip@mail.example.org!", f"Write to {EMAIL}!"),
    ("<ana@example.org>, ben@example.org", f"<{EMAIL}>, {EMAIL}"),
    ("+49 (0)171 555 44 33", PHONE),
    ("Ring 0171/5554433 or 555-123-4567.", f"Ring {PHONE} or {PHONE}."),
    ("My card is 4111 1111 1111 1111, until 12/27", f"My card is {CARD}, until 12/27"),
    ("IBAN DE89 3704 0044 0532 0130 00", f"IBAN {ACCOUNT}"),
    ("the password is hunter2, keep it", f"the password is {KEY} keep it"),
    ("Kennwort: Schwertfisch", f"Kennwort: {KEY}"),
    ("the token is ab12", f"the token is {KEY}"),
    ("api_key = 'abc'", f"api_key = {KEY}"),
    ("AKIAIOSFODNN7EXAMPLE", KEY),
    ("customer 48151623", f"customer {NUMBER}"),
    ("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----", KEY),
])  # fmt: skip
def test_what_is_personal_is_named_and_not_told(said: str, shown: str) -> None:
    assert masked(said) == shown


@pytest.mark.parametrize("said", [
    "The boiler code is 4711-B and room 12.", "On 2026-05-03 at 09:15, or 03.05.2026 12:30.", "From 2019-2024.",
    "It costs 1.200.000 euros, or 1,200 a month.", "3 x 80 euros", "Reservation QX7P2L", "Flight LH 1172 at 7:15",
    "see /srv/projects/agora/notes and https://example.org/a/b", "Donaudampfschifffahrtsgesellschaft",
    "the token is passed on", "The secret is patience.", "twenty-three-thousand-and-some-hundred",
])  # fmt: skip
def test_what_is_not_personal_stays(said: str) -> None:
    assert masked(said) == said


def test_the_check_digit_is_that_of_real_cards() -> None:
    assert luhn("4111111111111111")
    assert luhn("5500005555555559")
    assert not luhn("4111111111111112")
