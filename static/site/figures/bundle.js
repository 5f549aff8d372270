/* Plotly's bundle: megabytes, which take a second to read, while the server counts. */

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
