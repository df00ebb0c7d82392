// Draws the Mermaid diagrams of the book that mdbook builds (book.toml). `scripts/book` puts Mermaid beside this file. Without it, or if a
// diagram is invalid, the page keeps the text of the diagram.
(() => {
  const blocks = [...document.querySelectorAll("code.language-mermaid")];
  if (blocks.length === 0) return;

  const draw = async () => {
    mermaid.initialize({ startOnLoad: false });
    for (const [number, block] of blocks.entries()) {
      try {
        const { svg } = await mermaid.render(`diagram-${number}`, block.textContent);
        const figure = document.createElement("figure");
        // Themes of the book may be dark; the colours of the diagram are not.
        figure.style.cssText = "margin: 1em 0; padding: 1em; background: white; text-align: center";
        figure.innerHTML = svg;
        block.closest("pre").replaceWith(figure);
      } catch (error) {
        console.warn("a diagram cannot be drawn", error);
      }
    }
  };

  const library = document.createElement("script");
  library.src = new URL("mermaid.js", document.currentScript.src);
  library.addEventListener("load", draw);
  document.head.append(library);
})();
