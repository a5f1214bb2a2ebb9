#!/bin/sh
# Generates Go code from every .proto file below this directory.
#
# Needs protoc (Debian: protobuf-compiler) and Go. The two Go plugins are pinned:
# protoc-gen-go to the version of google.golang.org/protobuf in go.mod,
# protoc-gen-go-grpc to the version below. The output depends on nothing else, so
# "proto/generate.sh && git diff --exit-code proto" reports whether what is
# committed is current.
set -eu

grpc_plugin=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

cd "$(dirname "$0")"
if ! command -v protoc >/dev/null; then
	echo "proto/generate.sh: protoc not found; install protobuf-compiler" >&2
	exit 1
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/bin" "$tmp/out"
go build -o "$tmp/bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN="$tmp/bin" go install "$grpc_plugin"

find . -name '*.proto' | sed 's|^\./||' | LC_ALL=C sort | xargs protoc -I . \
	--plugin="$tmp/bin/protoc-gen-go" --plugin="$tmp/bin/protoc-gen-go-grpc" \
	--go_out="$tmp/out" --go_opt=module=github.com/tenuto-dev/tenuto/proto \
	--go-grpc_out="$tmp/out" --go-grpc_opt=module=github.com/tenuto-dev/tenuto/proto

# The release of protoc stays out of the headers: it would make the output
# differ between distributions for no reason.
find "$tmp/out" -name '*.pb.go' -exec sed -i -e '/^\/\/[[:space:]-]*protoc[[:space:]]*v/d' {} +

# What a removed .proto file left behind goes too.
find . -name '*.pb.go' -exec rm -f {} +
cp -R "$tmp/out/." .
