"""Routes of memory's JSON."""

from django.urls import path

from memory.api import banks, memories

urlpatterns = [
    path("banks/<uuid:bank_id>/analysts/", banks.AnalystsOfBank.as_view(), name="api_bank_analysts"),
    path("memories/<uuid:memory_id>/pin/", memories.Pin.as_view()),
    path("memories/<uuid:memory_id>/unpin/", memories.Unpin.as_view()),
    path("memories/<uuid:memory_id>/forget/", memories.Forget.as_view()),
    path("memories/<uuid:memory_id>/unforget/", memories.Unforget.as_view()),
    path("memories/<uuid:memory_id>/restore/", memories.Restore.as_view()),
    path("memories/<uuid:memory_id>/settle/", memories.Settle.as_view()),
    path("memories/<uuid:memory_id>/erase/", memories.Erase.as_view()),
]
