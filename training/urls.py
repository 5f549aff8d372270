"""Routes of training: the JSON of judgements, and pages."""

from django.urls import path

from training import api
from training.views.regret import regret

urlpatterns = [
    path("api/labels/memories/", api.WordsOnMemories.as_view(), name="api_words"),
    path("api/labels/memories/<uuid:memory_id>/", api.WordOnMemory.as_view(), name="api_word"),
    path("api/labels/turns/", api.ThumbsOnReplies.as_view(), name="api_thumbs"),
    path("api/labels/turns/<uuid:turn_id>/", api.ThumbOnReply.as_view(), name="api_thumb"),
    path("api/labels/banks/<uuid:bank_id>/", api.LearningOfBank.as_view(), name="api_learning"),
    path("training/regret/", regret, name="training_regret"),
]
