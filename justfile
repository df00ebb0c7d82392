# Every command of a person or of CI. Without `just`, type what stands below the recipe.

# Show the recipes.
default:
    @just --list

# Run all tests; the first run downloads or builds etcd and kube-apiserver once.
test:
    cargo test

# Check format, lints, and what needs no API server, before each commit.
check:
    cargo fmt --check
    cargo clippy --locked --all-targets -- -D warnings
    cargo test --locked --lib
    cargo test --locked --test it

# Let everything break at once and count what must not be: 200 kills, 200 resources (about 15 minutes).
storm:
    STORM=full cargo test --release --test apiserver storm

# The long versions, in one sitting: the book, a dry run of a release, random histories of both kinds with a seed of today, the whole crash matrix, every world of both operation tables, the full storm, the memory of the operator with a hostile namespace, the controllers of Flux and Argo CD, the chart and Flux on a node if there is one, the binary compiled twice, each benchmark once.
nightly: deny book
    scripts/release --dry-run
    HISTORIES=10000 HISTORIES_SEED=$(date +%Y%m%d) cargo test --release --test histories whatever_happens -- --nocapture --test-threads 1
    CRASHES=full cargo test --release --test histories wherever -- --nocapture
    EXPLORE=full cargo test --release --lib explore -- --nocapture --test-threads 2
    STORM=full cargo test --release --test apiserver storm
    MEMORY=full cargo test --release --test apiserver tenants::memory
    GITOPS=full cargo test --release --test apiserver gitops
    GITOPS=full .ci/node
    scripts/reproduce amd64
    cargo bench --package connect-operator-benches -- --test

# Check format and lints; warnings are errors.
lint:
    cargo fmt --check
    cargo clippy --locked --all-targets -- -D warnings
    cargo clippy --locked --package connect-operator --no-default-features -- -D warnings
    cargo clippy --locked --package connect-operator-benches --all-targets -- -D warnings

# Rewrite what is generated (crds/, tables of the pages, the CRDs and the schema of the chart, deploy/); review the diff.
golden:
    UPDATE_GOLDEN=1 cargo test --test it -- crds documentation chart

# Rewrite the picture of the console of the dev server (Chromium).
picture:
    UPDATE_PICTURES=1 REQUIRE_CHROMIUM=1 cargo test --test it -- console::the_page_can_be_read

# Record the demo as the picture of the README.
recording:
    scripts/demo-svg > target/demo.svg
    mv target/demo.svg docs/images/demo.svg

# Build the pages of docs/ as a book, into target/book (cargo install mdbook --locked: 3 to 5 minutes, once).
book:
    scripts/book

# Compare the benchmarks of the working tree with those of another commit, side by side (Python 3; some minutes, of which most is compiling).
bench base="HEAD":
    scripts/bench {{base}}

# Show the main job on this machine, until Ctrl-C.
demo:
    cargo run -- demo

# Serve the Connect API on 127.0.0.1:8787, with /_dev to let things go wrong.
dev:
    cargo run -- dev-server --control

# Look for inputs that break a target of tests/fuzz/targets/mod.rs (cargo install cargo-fuzz; a nightly compiler).
fuzz target seconds="60":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}

# Check licences, advisories and sources of all dependencies (cargo install cargo-deny).
deny:
    cargo deny --locked check

# Make an OCI archive of the image, and what it is made of (SBOM), without a container engine, for amd64 or arm64; `ctr images import` loads it.
image arch="amd64":
    scripts/image {{arch}} "$(scripts/static-binary {{arch}})" target/image/connect-operator-{{arch}}.tar
    scripts/sbom {{arch}} target/image/connect-operator-{{arch}}.cdx.json

# Make every file of a release from a clean tree, into target/dist, after `deny` (CONTRIBUTING.md, section Releasing).
release version:
    scripts/release {{version}}

# What CI does.
ci:
    .ci/run
