"""Routes of the chat: pages and JSON."""

from django.urls import path

from agents import api, bank_page, views

urlpatterns = [
    path("chat/", views.chat, name="chat"),
    path("chat/<uuid:conversation_id>/", views.chat, name="conversation"),
    path("memories/", views.memories, name="memories"),
    path("memories/erased/", views.erased, name="erased"),
    path("memories/banks/<uuid:bank_id>/", bank_page.bank, name="bank"),
    path("agents/", views.agents, name="agents"),
    path("agents/new/", views.agent_form, name="agent_new"),
    path("agents/<uuid:agent_id>/", views.agent_form, name="agent_edit"),
    path("api/agents/", api.Agents.as_view(), name="api_agents"),
    path("api/conversations/", api.Conversations.as_view(), name="api_conversations"),
    path("api/conversations/<uuid:conversation_id>/", api.OneConversation.as_view(), name="api_conversation"),
    path("api/conversations/<uuid:conversation_id>/forget/", api.ForgetConversation.as_view()),
    path("api/conversations/<uuid:conversation_id>/unforget/", api.UnforgetConversation.as_view()),
    path("api/turns/<uuid:turn_id>/", api.OneTurn.as_view(), name="api_turn"),
    path("api/recalls/<uuid:recall_id>/", api.OneRecall.as_view(), name="api_recall"),
    path("api/memories/", api.Memories.as_view(), name="api_memories"),
]
