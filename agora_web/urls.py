"""All routes."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from agora_web.accounts.views import profile
from agora_web.pages import lab_figures, life_figures, memory_figures, recall_figures
from agora_web.pages.bank_recall_figures import OF_ALL, OF_ONE
from agora_web.pages.banks import bank_life, banks
from agora_web.pages.jobs import jobs
from agora_web.pages.lab import ReplayState, lab, replay
from agora_web.pages.life import life
from agora_web.pages.memory import memory
from agora_web.pages.ready import ready
from agora_web.pages.recall import recall

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="chat"), name="home"),
    path("ready", ready, name="ready"),
    path("accounts/profile/", profile, name="profile"),
    path("accounts/", include("allauth.account.urls")),
    path("", include("agents.urls")),
    path("", include("training.urls")),
    path("memories/conversations/<uuid:conversation_id>/life/", life, name="life"),
    *(
        path(
            f"api/conversations/<uuid:conversation_id>/life/{figure.name}/",
            figure.as_view(),
            name=f"api_life_{figure.name}",
        )
        for figure in life_figures.FIGURES
    ),
    path("memories/recalls/<uuid:recall_id>/", recall, name="recall_page"),
    *(
        path(f"api/recalls/<uuid:recall_id>/{figure.name}/", figure.as_view(), name=f"api_recall_{figure.name}")
        for figure in recall_figures.FIGURES
    ),
    path("memories/<uuid:memory_id>/", memory, name="memory_page"),
    *(
        path(f"api/memories/<uuid:memory_id>/{figure.name}/", figure.as_view(), name=f"api_memory_{figure.name}")
        for figure in memory_figures.FIGURES
    ),
    path("memories/banks/", banks, name="banks"),
    path("memories/banks/<uuid:bank_id>/life/", bank_life, name="bank_life"),
    *(path(f"api/banks/life/{name}/", view.as_view(), name=f"api_banks_{name}") for name, view in OF_ALL),
    *(path(f"api/banks/<uuid:bank_id>/life/{name}/", view.as_view(), name=f"api_bank_{name}") for name, view in OF_ONE),
    path("lab/", lab, name="lab"),
    path("lab/<uuid:replay_id>/", replay, name="lab_replay"),
    path("api/lab/<uuid:replay_id>/", ReplayState.as_view(), name="api_lab"),
    *(
        path(f"api/lab/<uuid:replay_id>/{figure.name}/", figure.as_view(), name=f"api_lab_{figure.name}")
        for figure in lab_figures.FIGURES
    ),
    path("api/", include("memory.api.urls")),
    path("jobs/", jobs, name="jobs"),
    path("admin/", admin.site.urls),
]
