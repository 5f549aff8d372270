"""Routes of training: its pages, and the JSON of judgements."""

from django.urls import path

from training import adapter_figures, api, drift_figures, labelling_api, run_figures
from training.views import adapters, labelling, regret, runs, schedule

urlpatterns = [
    path("training/", runs.runs, name="training_runs"),
    path("training/runs/<uuid:run_id>/", runs.run, name="training_run"),
    path("training/runs/<uuid:run_id>/cancel/", runs.cancel, name="training_cancel"),
    path("api/training/runs/<uuid:run_id>/", runs.RunState.as_view(), name="api_training_run"),
    *(
        path(f"api/training/runs/<uuid:run_id>/{figure.name}/", figure.as_view(), name=f"api_run_{figure.name}")
        for figure in run_figures.FIGURES
    ),
    path("training/adapters/", adapters.adapters, name="training_adapters"),
    *(
        path(f"api/training/adapters/{figure.name}/", figure.as_view(), name=f"api_adapters_{figure.name}")
        for figure in (*adapter_figures.FIGURES, *drift_figures.FIGURES)
    ),
    path("training/adapters/file/", adapters.adapter_file, name="training_adapter_file"),
    path("api/labels/memories/", api.WordsOnMemories.as_view(), name="api_words"),
    path("api/labels/memories/<uuid:memory_id>/", api.WordOnMemory.as_view(), name="api_word"),
    path("api/labels/turns/", api.ThumbsOnReplies.as_view(), name="api_thumbs"),
    path("api/labels/turns/<uuid:turn_id>/", api.ThumbOnReply.as_view(), name="api_thumb"),
    path("api/labels/banks/<uuid:bank_id>/", api.LearningOfBank.as_view(), name="api_learning"),
    path("training/schedule/", schedule.schedule, name="training_schedule"),
    path("training/schedule/times/", schedule.times, name="training_times"),
    path("training/schedule/rules/", schedule.rules, name="training_rules"),
    path("training/regret/", regret.regret, name="training_regret"),
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
