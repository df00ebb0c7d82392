//! `scripts/diagrams.js`: the book draws its Mermaid diagrams, and shows their text where it cannot.

use test_support::chromium::Page;

use crate::prelude::*;

/// The script, relative to the package and to a built book.
const SCRIPT: &str = "scripts/diagrams.js";
/// Draws any text but the invalid one, as Mermaid does with what it knows.
const MERMAID: &str = r#"globalThis.mermaid = {
  initialize() {},
  async render(id, text) {
    if (text.includes("invalid")) throw new Error(text);
    return { svg: `<svg id="${id}"><title>drawn: ${text}</title></svg>` };
  },
};"#;
/// A page as mdbook builds it.
const PAGE: &str = r#"<!doctype html><html><head><link rel="icon" href="data:,"></head><body><main>
<pre><code class="language-mermaid">flowchart LR
  a --&gt; b
</code></pre>
<pre><code class="language-mermaid">invalid
</code></pre>
<pre><code class="language-sh">ls
</code></pre></main><script src="../scripts/diagrams.js"></script></body></html>"#;

#[tokio::test]
async fn a_diagram_is_drawn_and_its_text_stays_where_that_is_impossible() {
    let Some(mut page) = Page::start().await else { return };
    let book = tempfile::tempdir().unwrap();
    for folder in ["scripts", "kinds"] {
        std::fs::create_dir(book.path().join(folder)).unwrap();
    }
    std::fs::copy(in_checkout(SCRIPT), book.path().join(SCRIPT)).unwrap();
    std::fs::write(book.path().join("kinds/page.html"), PAGE).unwrap();
    let url = format!("file://{}/kinds/page.html", book.path().display());
    // The page counts as loaded once the scripts that it adds are loaded or have failed.
    page.visit(&url).await;
    assert_eq!(shown(&mut page).await, json!([0, ["flowchart LR\n  a --> b\n", "invalid\n", "ls\n"]]));

    std::fs::write(book.path().join("scripts/mermaid.js"), MERMAID).unwrap();
    page.call("Page.reload", json!({"ignoreCache": true})).await;
    page.until_shown("main figure svg title", "drawn: flowchart LR\n  a --> b\n").await;
    assert_eq!(shown(&mut page).await, json!([1, ["invalid\n", "ls\n"]]));
}

/// Returns how many diagrams are drawn, and the texts of all blocks.
async fn shown(page: &mut Page) -> serde_json::Value {
    let texts = "[...document.querySelectorAll('pre code')].map((block) => block.textContent)";
    page.evaluate(&format!("[document.querySelectorAll('main figure svg').length, {texts}]")).await
}

#[test]
fn the_book_loads_the_script() {
    let config = text_of("book.toml");
    assert!(config.contains(&format!("additional-js = [\"{SCRIPT}\"]")), "{config}");
}
