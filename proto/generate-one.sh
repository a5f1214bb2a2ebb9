#!/bin/sh
# Generates Go code beside the .proto files of one directory that lies outside
# proto/ (models of examples and tests). Called by go:generate lines as
# "sh <path>/proto/generate-one.sh", with the directory as working directory.
#
# Needs protoc and Go, like generate.sh; protoc-gen-go is pinned by go.mod.
set -eu

dir=$(pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v protoc >/dev/null; then
	echo "proto/generate-one.sh: protoc not found; install protobuf-compiler" >&2
	exit 1
fi

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
cd "$root"
go build -o "$bin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
find "${dir#"$root"/}" -maxdepth 1 -name '*.proto' | LC_ALL=C sort | xargs protoc -I . -I proto \
	--plugin="$bin/protoc-gen-go" --go_out=. --go_opt=paths=source_relative
find "${dir#"$root"/}" -maxdepth 1 -name '*.pb.go' -exec sed -i -e '/^\/\/[[:space:]-]*protoc[[:space:]]*v/d' {} +
