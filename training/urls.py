"""Routes of training: its pages, and the JSON of judgements."""

from django.urls import path

from training import api
from training.views import adapters

urlpatterns = [
    path("training/adapters/", adapters.adapters, name="training_adapters"),
    path("training/adapters/file/", adapters.adapter_file, name="training_adapter_file"),
    path("api/labels/memories/", api.WordsOnMemories.as_view(), name="api_words"),
    path("api/labels/memories/<uuid:memory_id>/", api.WordOnMemory.as_view(), name="api_word"),
    path("api/labels/banks/<uuid:bank_id>/", api.LearningOfBank.as_view(), name="api_learning"),
]
