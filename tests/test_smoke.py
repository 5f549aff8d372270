import pytest
from django.utils import timezone
from datetime import timedelta
from agora_web.accounts.models import User
from memory.tenancy import acting_as
from memory.models import Bank, Memory, Turn
from memory.services.banks import create_bank, BankConfiguration
from memory.services.conversations import start_conversation
from memory.services.turns import open_turn
from memory.services.recalls import prepare_cue, recall_for_turn
from memory.services.remember import remember_turn, TurnToRemember
from memory.services import memories
from memory.hot_banks import hot_banks
from memory.engine.hot import check
@pytest.mark.django_db(transaction=True, databases=["default","owner"])
def test_b():
    u = User.objects.create_user("a@b.c", "x")
    now = timezone.now()
    with acting_as(u.pk):
        b = create_bank(owner_id=u.pk, name="b", configuration=BankConfiguration(6, 400, "importance", 300, True), now=now)
        c = start_conversation(owner_id=u.pk, bank_id=b.pk, now=now)
    for i, t in enumerate(["My sister Anna lives in Lisbon", "I have a dog called Bruno", "The meeting is on 3 May 2024", "My bike is red", "Where does Anna live?", "hi", "I have a dog called Bruno", "My passport number is X1234567"]):
        with acting_as(u.pk):
            turn = open_turn(conversation_id=c.pk, text=t, speaker="Al", agent_speaker="Scribe", now=now)
        with acting_as(u.pk):
            p = prepare_cue(turn, previous=None, exclude_turns=frozenset(), now=now)
            r, trace = recall_for_turn(turn, p, now=now)
            print(t, "->", [(x.item.text, round(x.weight,2), x.group) for x in r.injected], r.below_floor)
        turn.action = "ok noted"; turn.save
        with acting_as(u.pk):
            remember_turn(b.pk, TurnToRemember(turn), now=now)
            Turn.objects.filter(pk=turn.pk).update(state="done")
    with acting_as(u.pk):
        b.refresh_from_db()
        hot = hot_banks.open(b); check(hot)
        print(hot.state.held, hot.state.held_tokens, [(i.text, i.importance) for i in hot])
        m = Memory.objects.filter(state="archived").first()
        print(m.text, m.archive_reason)
        memories.restore(m.pk, now=now)
        memories.pin(m.pk, now=now)
        memories.forget(m.pk, now=now)
        memories.unforget(m.pk, now=now)
        memories.erase(m.pk, now=now)
        b.refresh_from_db(); check(hot_banks.open(b))
