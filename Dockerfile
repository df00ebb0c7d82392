# The image: one static binary and the authorities that it trusts. No shell, no user but 65532, nothing to write to.
#
#   docker build --build-arg TARGETARCH=arm64 --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" \
#     --build-arg CREATED="$(git log -1 --format=%cI)" --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" .
#
# Without a container engine: `just image`.
FROM --platform=$BUILDPLATFORM rust:1.95.0-slim-bookworm AS build
ARG TARGETARCH=amd64
# gcc for this machine is there.
RUN case "$(dpkg --print-architecture)-$TARGETARCH" in \
      amd64-arm64) cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; \
      arm64-amd64) cross="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;; \
    esac \
 && apt-get update && apt-get install --yes --no-install-recommends ca-certificates $cross \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY rust-toolchain.toml Cargo.toml Cargo.lock ./
COPY scripts/static-binary scripts/
COPY src src
ARG SOURCE_DATE_EPOCH=0
RUN scripts/static-binary "$TARGETARCH" \
 && install -D -m 755 target/*-unknown-linux-musl/image/connect-operator /root-of-image/connect-operator \
 && install -D -m 644 /etc/ssl/certs/ca-certificates.crt /root-of-image/etc/ssl/certs/ca-certificates.crt \
 && find /root-of-image -exec touch --date="@$SOURCE_DATE_EPOCH" {} +

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="connect-operator" \
      org.opencontainers.image.description="Kubernetes operator for commercetools Connect" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /root-of-image/ /
USER 65532:65532
ENTRYPOINT ["/connect-operator"]
CMD ["run"]
