"""The ASGI application: pages and JSON by Django, websockets by Channels."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agora_web.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (after Django is set up)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from agents.routing import websocket_urlpatterns as chat_sockets  # noqa: E402
from agora_web.opening import Opening  # noqa: E402
from agora_web.pages.sockets import websocket_urlpatterns as page_sockets  # noqa: E402
from training.routing import websocket_urlpatterns as training_sockets  # noqa: E402

application = Opening(
    ProtocolTypeRouter(
        {
            "http": django_application,
            "websocket": AllowedHostsOriginValidator(
                AuthMiddlewareStack(URLRouter([*chat_sockets, *training_sockets, *page_sockets]))
            ),
        }
    )
)
