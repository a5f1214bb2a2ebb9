#!/bin/sh
# Generates Go code from every .proto file below this directory.
#
# Needs protoc (Debian: protobuf-compiler) and Go. The two Go plugins are pinned:
# protoc-gen-go to the version of google.golang.org/protobuf in go.mod,
# protoc-gen-go-grpc to the version below. The output depends on nothing else, so
# "proto/generate.sh && git diff --exit-code proto" tells whether what is
# committed is current.
set -eu

grpc_plugin=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

cd "$(dirname "$0")"
if ! command -v protoc >/dev/null; then
	echo "proto/generate.sh: protoc not found; install protobuf-compiler" >&2
	exit 1
fi

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN="$bin" go install "$grpc_plugin"

find . -name '*.pb.go' -exec rm -f {} +
# The protoc release is left out of the generated headers: it would make the
# output differ between distributions for no reason.
find ligato -name '*.proto' | LC_ALL=C sort | xargs protoc -I . \
	--plugin="$bin/protoc-gen-go" --plugin="$bin/protoc-gen-go-grpc" \
	--go_out=. --go_opt=module=github.com/tenuto-dev/tenuto/proto \
	--go-grpc_out=. --go-grpc_opt=module=github.com/tenuto-dev/tenuto/proto
find . -name '*.pb.go' -exec sed -i -e '/^\/\/[[:space:]-]*protoc[[:space:]]*v/d' {} +
