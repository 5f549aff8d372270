"""Routes of training: the JSON of judgements, and the pages of those who look after it."""

from django.urls import path

from training import api
from training.views import schedule

urlpatterns = [
    path("api/labels/memories/", api.WordsOnMemories.as_view(), name="api_words"),
    path("api/labels/memories/<uuid:memory_id>/", api.WordOnMemory.as_view(), name="api_word"),
    path("api/labels/banks/<uuid:bank_id>/", api.LearningOfBank.as_view(), name="api_learning"),
    path("training/schedule/", schedule.schedule, name="schedule"),
    path("training/schedule/times/", schedule.times, name="schedule_times"),
    path("training/schedule/rules/", schedule.rules, name="rules"),
]
