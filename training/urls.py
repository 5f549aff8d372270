"""Routes of training: the JSON of judgements, and the pages of those who give them."""

from django.urls import path

from training import api, labelling_api
from training.views import labelling

urlpatterns = [
    path("api/labels/memories/", api.WordsOnMemories.as_view(), name="api_words"),
    path("api/labels/memories/<uuid:memory_id>/", api.WordOnMemory.as_view(), name="api_word"),
    path("api/labels/banks/<uuid:bank_id>/", api.LearningOfBank.as_view(), name="api_learning"),
    path(
        "api/labelling/conversations/<uuid:conversation_id>/",
        labelling_api.LabellingOfConversation.as_view(),
        name="api_labelling_of",
    ),
    path("api/labelling/items/", labelling_api.Waiting.as_view(), name="api_labelling"),
    path("api/labelling/items/<uuid:item_id>/", labelling_api.OneItem.as_view(), name="api_labelling_item"),
    path("api/labelling/disputes/", labelling_api.Disputed.as_view(), name="api_disputes"),
    path("api/labelling/disputes/<uuid:item_id>/", labelling_api.OneDispute.as_view(), name="api_dispute"),
    path("training/labelling/", labelling.labelling, name="labelling"),
    path("training/labelling/resolve/", labelling.disputes, name="labelling_disputes"),
    path("training/labelling/statistics/", labelling.statistics, name="labelling_statistics"),
]
