"""mem0 as a plain `pip install mem0ai` gives it, infer=False: its own vector store on disk, its own threshold."""

import sys

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

PACKAGES = ("mem0ai", "qdrant-client")
USER = "alex"

# A plain install has no fastembed, and its vector store then searches by vectors alone. `with_mem0_hybrid` comes first.
sys.modules.setdefault("fastembed", None)


class GivenVectors(EmbeddingBase):
    """An embedder by mem0's own interface that looks its vectors up."""

    given = None

    def embed(self, text, memory_action=None):
        return self.given[text]


EmbedderFactory.provider_to_class["huggingface"] = f"{__name__}.GivenVectors"


def open_bank(folder, width, given):
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": {
                "collection_name": "bench", "embedding_model_dims": width, "path": str(folder / "qdrant"),
            }},
            "embedder": {"provider": "huggingface", "config": {"embedding_dims": width}},
            "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": "http://127.0.0.1:9"}},
            "history_db_path": str(folder / "history.db"),
        }
    )  # fmt: skip
    memory.embedding_model.given = given
    return Mem0Bank(memory)


class Mem0Bank:
    """Each message of one `add` becomes a memory; its id is mem0's."""

    def __init__(self, memory):
        self.memory = memory
        self._ids = {}

    def add(self, sides):
        messages = [{"role": _role(role), "content": text} for _, role, text in sides]
        added = self.memory.add(messages, user_id=USER, infer=False)["results"]
        for (side, _, _), memory in zip(sides, added, strict=True):
            self._ids[memory["id"]] = side

    def search(self, text, limit):
        found = self.memory.search(text, top_k=limit, filters={"user_id": USER})["results"]
        return [self._ids[memory["id"]] for memory in found]

    def close(self):
        self.memory.close()
        self.memory.vector_store.client.close()


def _role(role):
    """mem0 knows two speakers, and keeps nothing of a third, the system."""
    return "assistant" if role == "assistant" else "user"
