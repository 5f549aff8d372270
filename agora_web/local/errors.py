"""What can go wrong with the services AGORA starts by itself."""


class LocalServiceError(Exception):
    """An embedded service could not be made, started or stopped.

    The message is a sentence for a person: the cause, then the cure. ``retryable`` says whether
    trying again without changing anything can help.
    """

    def __init__(self, sentence: str, *, retryable: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.retryable = retryable


class AlreadyRunning(LocalServiceError):
    """Another AGORA works on the same home right now."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, retryable=True)
