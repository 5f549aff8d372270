/* What a link leads to is begun before it is followed: the first figure of a long conversation makes the server count
   its whole past once, and drawing needs a large script. Links name in data-ahead what to fetch: of a figure with
   `?ahead=1`, another address than the page's own, for which a browser would show for minutes what it fetched ahead. */

const begun = new Set();

/** Let the browser fetch, when it has nothing else to do, what the page behind this link will need. */
export function ahead(link) {
  for (const address of link.dataset.ahead.split(" ")) {
    if (begun.has(address)) continue;
    begun.add(address);
    const hint = document.createElement("link");
    hint.rel = "prefetch";
    hint.href = address;
    document.head.append(hint);
  }
}

/** To point at such a link, or to reach it by keyboard, is enough. */
export function startAhead() {
  const pointed = (event) => {
    const link = event.target.closest?.("a[data-ahead]");
    if (link) ahead(link);
  };
  document.addEventListener("pointerover", pointed);
  document.addEventListener("focusin", pointed);
}
