"""Final text to safe HTML: markdown-it-py parses, Pygments colours code, nh3 has the last word.

No Django in here. What the browser shows while a reply streams is rendered by the page itself (marked and
DOMPurify, the same tags); this HTML replaces it when the turn ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

# Colouring is linear but slow, about 1 MB/s; a longer block is shown plain.
HIGHLIGHT_LIMIT = 60_000

_TAGS = {
    *("p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code", "span", "em", "strong", "s", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"data-language"},
    "ol": {"start"},
}
_CELL_CLASSES = {"left", "center", "right"}
_CLASSES = {
    "span": {name for name in STANDARD_TYPES.values() if name} | {"image-text"},
    "th": _CELL_CLASSES,
    "td": _CELL_CLASSES,
}


def render_markdown(text: str) -> str:
    """Render one side of a turn as sanitised HTML.

    Raw HTML in `text` is shown as text. Images become links (or their words, inside a link): nothing remote
    is loaded. Links get `rel="noopener nofollow"` and only the schemes http, https and mailto. NUL and lone
    surrogates are dropped. Blank text gives ""; no `str` makes it raise.
    """
    storable = text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")
    if not storable.strip():
        return ""
    return nh3.clean(
        _parser().render(storable),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
        strip_comments=True,
    )


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """The parser is stateless between renders, so that one serves all threads."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True})
    parser.enable(["table", "strikethrough", "linkify"])
    parser.add_render_rule("image", _image_as_link)
    parser.add_render_rule("th_open", _cell)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("fence", _fence)
    return parser


def _coloured(code: str, language: str) -> str:
    """Code as Pygments spans, or escaped when the language is unknown or the block is long."""
    if not language or len(code) > HIGHLIGHT_LIMIT:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _fence(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _env: Any) -> str:
    """A fenced block; its language goes to `data-language`, which the page shows above the block."""
    token = tokens[index]
    words = token.info.split()
    language = words[0] if words else ""
    label = f' data-language="{escape(language[:32])}"' if language else ""
    return f"<pre><code{label}>{_coloured(token.content, language)}</code></pre>\n"


def _cell(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A table cell whose alignment is a class: an inline style would break the content security policy."""
    token = tokens[index]
    style = str(token.attrGet("style") or "")
    side = style.removeprefix("text-align:")
    return f'<{token.tag} class="{side}">' if side in _CELL_CLASSES else f"<{token.tag}>"


def _image_as_link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """An image is never loaded: it becomes a link with its text, or only that text inside a link."""
    token = tokens[index]
    address = str(token.attrGet("src") or "")
    words = escape(renderer.renderInlineAsText(token.children or [], options, env) or address)
    level = sum({"link_open": 1, "link_close": -1}.get(earlier.type, 0) for earlier in tokens[:index])
    if level > 0 or not address:
        return f'<span class="image-text">{words}</span>'
    return f'<a href="{escape(address)}">{words}</a>'
