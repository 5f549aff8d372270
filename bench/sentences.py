"""Generated talk for filling banks: plain sentences about people, places, dates and things, seeded."""

from __future__ import annotations

import random


def _words(text: str, between: str = " ") -> list[str]:
    return text.split(between)


NAMES = _words(
    "Anna Ben Carla Dmitri Elena Farid Grace Hiro Ingrid Jonas Kofi Lucia Marta Nadia Omar Priya Quentin Rosa Samir "
    "Tove Ulla Victor Wanda Ximena Yusuf Zoe Amir Bianca Casper Dora Emil Fatima Gustav Hanna Igor Jana Karim Lena"
)
PLACES = _words(
    "Lisbon Bergen Kyoto Tunis Ghent Porto Riga Oslo Graz Izmir Lyon Malmo Nantes Oaxaca Perth Quito Rennes Seville "
    "Turin Utrecht Vilnius Warsaw Xanthi York Zagreb Accra Bilbao Cork Dakar Esbjerg Fes Galway Haifa Ioannina"
)
THINGS = _words(
    "bicycle passport violin greenhouse notebook tent camera sofa kettle drone telescope suitcase lamp guitar oven "
    "printer kayak carpet mirror ladder backpack piano scooter heater freezer compass helmet tripod hammock blender"
)
DEEDS = _words(
    "repair sell paint borrow photograph return insure replace polish ship measure store lend upgrade test label clean "
    "wrap assemble inspect donate rent collect order"
)
FEELINGS = _words("happy nervous proud tired curious relieved worried excited grateful puzzled calm annoyed")
TOPICS = _words(
    "the budget review, a marathon plan, the wedding, the garden, a job interview, the tax return, the school play, "
    "an old map, the bakery on the corner, the new apartment, a sourdough recipe, the choir, the night train, "
    "a broken pipe, the chess club, the visa application, the museum tour, a knee injury, the solar panels",
    between=", ",
)
MONTHS = _words("January February March April May June July August September October November December")

TELLING = (
    "{name} moved to {place} in {month} and still looks for somebody to {deed} the {thing}.",
    "My sister {name} will {deed} her {thing} before we travel to {place} on {day} {month}.",
    "We paid {amount} euros for the {thing}, which {name} found in {place}.",
    "I felt {feeling} when {name} told me about {topic}.",
    "The appointment with {name} about {topic} is on {day} {month} at {hour} o'clock.",
    "Please remember that {name} is allergic to peanuts and cannot help with {topic}.",
    "Our order number for the {thing} is {code}, and the shop in {place} ships it in {month}.",
    "{name} and {other} argued about {topic} all evening, then they went to {deed} the {thing}.",
    "I no longer own the {thing}; {name} bought it for {amount} euros last {month}.",
    "For {topic} we need a {thing}, {amount} chairs and somebody like {name} from {place}.",
    "{name} works as a nurse in {place} and has every second {month} off.",
    "After {topic} I was {feeling}, so {name} cooked dinner and we talked about the {thing}.",
    "The {thing} broke again; {name} said that a workshop in {place} could {deed} it for {amount} euros.",
    "My flight to {place} leaves on {day} {month} at {hour}:15, booking code {code}.",
    "{name} recommended a book about {topic}, it was written in {place}.",
    "In {month} the children visited {name} in {place} and came home {feeling}.",
)
ASKING = (
    "Where does {name} live now?",
    "When is the appointment with {name} about {topic}?",
    "How much did we pay for the {thing}?",
    "Who wanted to {deed} the {thing} in {place}?",
    "What is the order number for the {thing}?",
    "What did {name} say about {topic}?",
    "Which flight do I take to {place} in {month}?",
    "Does {name} still own the {thing}?",
)
REPLIES = (
    "Noted: {name} and {topic}. I will come back to it before {day} {month}.",
    "That sounds like a good plan. Should {name} {deed} the {thing} first, or wait until {month}?",
    "I see why you are {feeling}. The trip to {place} may help, and the {thing} can wait.",
    "So the {thing} costs {amount} euros in {place}; I compared it with what {name} paid.",
    "Then {day} {month} at {hour} o'clock it is, with {name}, in {place}.",
)


class Talk:
    """An endless, seeded source of sentences."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def telling(self) -> str:
        return self._filled(self._dice.choice(TELLING))

    def asking(self) -> str:
        return self._filled(self._dice.choice(ASKING))

    def reply(self) -> str:
        return self._filled(self._dice.choice(REPLIES))

    def observation(self, asking_share: float = 0.4) -> str:
        """What a person says: mostly telling, at times asking."""
        return self.asking() if self._dice.random() < asking_share else self.telling()

    def _filled(self, pattern: str) -> str:
        dice = self._dice
        return pattern.format(
            name=dice.choice(NAMES), other=dice.choice(NAMES), place=dice.choice(PLACES), thing=dice.choice(THINGS),
            deed=dice.choice(DEEDS), feeling=dice.choice(FEELINGS), topic=dice.choice(TOPICS),
            month=dice.choice(MONTHS), day=dice.randint(1, 28), hour=dice.randint(7, 21),
            amount=dice.randint(3, 900), code=f"{dice.choice('ABCDEFGH')}{dice.randint(10_000, 99_999)}",
        )  # fmt: skip
