"""LangGraph's store in memory, with its vector index over the field that holds the text."""

from langgraph.store.memory import InMemoryStore

PACKAGES = ("langgraph", "langgraph-checkpoint")
NAMESPACE = ("memories", "alex")


def open_bank(folder, width, given):
    def embed(texts):
        return [given[text] for text in texts]

    return LangGraphBank(InMemoryStore(index={"dims": width, "embed": embed, "fields": ["text"]}))


class LangGraphBank:
    def __init__(self, store):
        self._store = store

    def add(self, sides):
        for side, _, text in sides:
            self._store.put(NAMESPACE, side, {"text": text})

    def search(self, text, limit):
        return [item.key for item in self._store.search(NAMESPACE, query=text, limit=limit)]

    def close(self):
        self._store = None
