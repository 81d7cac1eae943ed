# The image of the sidecar: one static binary, nothing else.
#
#   docker build -t ladder .                        builds the binary, too
#   docker build -t ladder --target prebuilt .      takes it from dist/cmp, without a network

# Nothing of this stage but the binary is in the image, whose base is scratch. Releases do not
# use it. To pin it, append the digest that `docker buildx imagetools inspect golang:1.26`
# prints; Dependabot then updates both.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${VERSION}" -o /cmp ./cmd/cmp

FROM scratch AS base
ENV PATH=/usr/local/bin
# The user of the repo-server, which shares the socket.
USER 999:999
ENTRYPOINT ["/usr/local/bin/cmp"]
CMD ["serve"]

FROM base AS prebuilt
COPY dist/cmp /usr/local/bin/cmp

# Those of a release: GoReleaser lays the binaries of each platform into the context.
FROM base AS released
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/cmp /usr/local/bin/cmp

FROM base
COPY --from=build /cmp /usr/local/bin/cmp
