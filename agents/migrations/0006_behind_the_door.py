"""What the analyst's door shows of agents: the one whose bank was opened."""

from django.db import migrations

from memory.tenancy import behind_door


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0005_rates_memories"),
        ("memory", "0013_behind_the_door"),
    ]

    operations = [
        behind_door("agents_seat"),
        behind_door("agents_agent", "EXISTS (SELECT FROM agents_seat s WHERE s.agent_id = agents_agent.id)"),
    ]
