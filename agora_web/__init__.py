"""The Django project of AGORA."""
