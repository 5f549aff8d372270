/* Plotly's bundle: megabytes, so it is fetched once a page has a figure to draw, beside the figure's numbers. */

let coming = null;

/** Plotly, when it is there. */
export function plotly() {
  coming ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = document.querySelector("[data-plotly]").dataset.plotly;
    script.addEventListener("load", () => done(window.Plotly));
    script.addEventListener("error", () => failed(new Error("Plotly's bundle did not come.")));
    document.head.append(script);
  });
  return coming;
}
