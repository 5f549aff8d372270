"""Memory itself: one fact there and back, and the encoder that all vectors came from."""

from __future__ import annotations

import uuid
from functools import partial

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agora_web.accounts.models import User
from agora_web.doctor.illness import Ill
from memory.encoding import encoder
from memory.engine.types import BankError, State
from memory.hot_banks import hot_banks
from memory.models import Bank, Memory
from memory.services import memories
from memory.services.banks import BankConfiguration, create_bank
from memory.services.conversations import start_conversation
from memory.services.recalls import prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn
from memory.services.turns import open_turn
from memory.tenancy import acting_as

FACT = "The spare key of the observatory lies under the blue flowerpot."
QUESTION = "Where is the spare key of the observatory?"


def round_trip() -> str:
    """Write, recall, delete: a throw-away person's fact, through the services of the chat, then rolled back."""
    try:
        with transaction.atomic():
            person = User.objects.create_user(f"doctor-{uuid.uuid4().hex}@agora.localhost", None, name="Doctor")
            with acting_as(person.pk):
                bank, recalled, gone = _tell_ask_erase(person)
            transaction.set_rollback(True)
    except BankError as error:
        raise Ill(error.sentence, _("The log of this command has more.")) from error
    finally:
        connection.close()
    hot_banks.drop(bank.pk)
    if not recalled:
        raise Ill(
            _("What was remembered was not recalled."),
            _("Leave AGORA_ENCODER empty for the packaged encoder, and install anew: `make clean`, `make run`."),
        )
    if not gone:
        raise Ill(_("What was erased is still there."), _("Run `manage.py migrate --database owner`."))
    return _("A fact was written, recalled and deleted.")


def _tell_ask_erase(person: User) -> tuple[Bank, bool, bool]:
    """One bank's short life: whether its fact was recalled, and whether it was gone in the end."""
    now = timezone.now()
    configuration = BankConfiguration(10, 1000, "importance", 200, False)
    bank = create_bank(owner_id=person.pk, name="doctor", configuration=configuration, now=now)
    conversation = start_conversation(owner_id=person.pk, bank_id=bank.pk, now=now)
    say = partial(open_turn, conversation_id=conversation.pk, speaker=person.speaker, agent_speaker="Scribe", now=now)
    remember_turn(bank.pk, TurnToRemember(say(text=FACT)), now=now)
    asking = say(text=QUESTION)
    cue = prepare_cue(asking, previous=None, exclude_turns=frozenset(), now=now)
    found = recall_for_turn(asking, cue).recollection
    told = [row.item for row in found.injected if row.item.text == FACT and row.group != "below"]
    for item in told:
        memories.erase(item.id, now=now)
    return bank, bool(told), not Memory.objects.filter(bank=bank, state=State.HELD).exists()


def encoder_width() -> str:
    """The encoder is the one that the banks' vectors came from."""
    try:
        space = encoder().space
        width = encoder().encode(["width"]).shape[1]
    except BankError as error:
        raise Ill(error.sentence, _("Install anew (`make clean`, `make run`), or mend AGORA_ENCODER.")) from error
    if width != space.width:
        raise Ill(
            _("%(model)s says that it is %(said)d wide, and its vectors are %(width)d wide.")
            % {"model": space.model, "said": space.width, "width": width},
            _("Leave AGORA_ENCODER empty for the packaged encoder."),
        )
    in_use = Bank.objects.using("worker").values_list("space__model", "space__revision", "space__width").distinct()
    for model, revision, wide in in_use:
        if (model, revision, wide) != (space.model, space.revision, width):
            raise Ill(
                _("There are banks of %(model)s (%(wide)d wide), and the encoder is %(now)s (%(width)d wide).")
                % {"model": model, "wide": wide, "now": space.model, "width": width},
                _("Set AGORA_ENCODER back: vectors of two encoders never mix."),
            )
    return _("%(model)s, %(width)d wide, as in every bank.") % {"model": space.model, "width": width}
