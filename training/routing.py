"""Websocket routes of training."""

from django.urls import path

from training.consumers import RunConsumer

websocket_urlpatterns = [path("ws/training/runs/<uuid:run_id>/", RunConsumer.as_asgi())]
