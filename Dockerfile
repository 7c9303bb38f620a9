# One image for every host, for the lab and for the page that shows reports:
# locklab and the servers that locks need.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
# The commit goes into every report, where the context has it.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    git rev-parse HEAD >/dev/null 2>&1 && vcs=true || vcs=false; \
    CGO_ENABLED=0 go build -buildvcs=$vcs -trimpath -ldflags='-s -w' -o /locklab ./cmd/locklab

FROM debian:bookworm-slim
# More packages, for locks outside the headline: etcd-server, zookeeper, postgresql.
ARG SERVERS=
RUN apt-get update -q \
 && apt-get install -y -q --no-install-recommends redis-server $SERVERS \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /var/lib/redis /etc/redis /var/lib/postgresql \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin locklab \
 && install -d -o locklab -g locklab -m 0750 /var/lib/locklab /run/locklab /run/locklab-scrape
COPY compose/lab /usr/local/bin/lab
COPY --from=build /locklab /usr/local/bin/locklab
USER locklab
ENTRYPOINT ["locklab"]
