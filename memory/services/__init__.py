"""The verbs that write, one transaction each."""
