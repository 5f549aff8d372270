"""Websocket routes of the pages that join several apps."""

from django.urls import path

from agora_web.pages.lab_socket import LabConsumer
from agora_web.pages.replies import RepliesConsumer

websocket_urlpatterns = [
    path("ws/recalls/<uuid:recall_id>/replies/", RepliesConsumer.as_asgi()),
    path("ws/lab/<uuid:replay_id>/", LabConsumer.as_asgi()),
]
