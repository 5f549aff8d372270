"""mem0 with the package that switches its keyword search on: BM25 by fastembed, added to the cosine by mem0 itself.

fastembed would fetch its stop words from a model hub; offline it is given a list of the common English ones instead.
"""

from fastembed import SparseTextEmbedding  # isort: skip - before `with_mem0`, which would hide it

import with_mem0

PACKAGES = (*with_mem0.PACKAGES, "fastembed")
STOP_WORDS = set(
    """a about after all also am an and any are as at be because been before being but by can could did do does doing
    for from had has have having he her here him his how i if in into is it its just me more most my no nor not now of
    off on once only or other our out over own same she should so some such than that the their them then there these
    they this those through to too under until up very was we were what when where which while who whom why will with
    would you your""".split()  # noqa: SIM905
)


def open_bank(folder, width, given):
    bank = with_mem0.open_bank(folder, width, given)
    words = folder / "bm25"
    words.mkdir()
    bank.memory.vector_store._bm25_encoder = SparseTextEmbedding(
        "Qdrant/bm25", specific_model_path=str(words), stopwords=STOP_WORDS
    )
    return bank
