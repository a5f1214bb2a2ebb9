# Everything there is to do with this repository. "make help" lists it.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The agent is pure Go: one static binary, the same on every Linux.
export CGO_ENABLED := 0
# All commands build with the same flags, so that each package is compiled once. Without the trace
# pages of grpc, which are templates: with a template in a program, the linker keeps all exported
# methods of all types.
TAGS := grpcnotrace
export GOFLAGS := -trimpath -tags=$(TAGS)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
DATE    := $(shell git log -1 --format=%cI 2>/dev/null)
INFO    := github.com/tenuto-dev/tenuto/cmd/internal/buildinfo
LDFLAGS := -s -w -X $(INFO).version=$(VERSION) -X $(INFO).commit=$(COMMIT) -X $(INFO).date=$(DATE)

# Modules of their own, whose dependencies do not become requirements of programs that
# import the agent.
MODULES := $(patsubst %/go.mod,%,$(filter-out go.mod,$(shell git ls-files '*go.mod')))

# Where "make run" looks for a VPP that runs already.
VPP_SOCKET ?= /run/vpp/api.sock
# Cases of "make sim", time per target of "make fuzz".
CASES    ?= 100000
FUZZTIME ?= 10s
BENCH    ?= .
# The layout of graphs in the web interface, see "make webui-vendor".
DAGRE := 3.1.3

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-28s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Variables: VPP_BIN (a VPP to start or to test against), CASES, FUZZTIME, BENCH."

.PHONY: build
build: ## build the programs into bin/
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: run
run: build ## start the agent with examples/quickstart; Ctrl-C ends it and cleans up
	@./.ci/need ip iptables nft ping
	@VPP_SOCKET='$(VPP_SOCKET)' exec ./examples/quickstart/run.sh

.PHONY: deps
deps: ## install the programs that the tests use (Debian and Ubuntu, as root); prints what it installs
	@./.ci/need ip iptables nft ping ps setsid zsh fish busybox etcd etcdctl redis-server consul systemd-analyze promtool chromium openssl

# "make check" vets. Without symbols, programs of tests link faster. Four packages at once: many tests wait
# more than they compute, and the longest packages come first.
TESTFLAGS := -v -vet=off -ldflags='-s -w' -p 4 -timeout 40m
# Tests take the programs from here instead of building them.
test test-short nightly: export TENUTO_PROGRAMS := $(CURDIR)/bin

.PHONY: test
test: deps build ## install what the tests use, and test all packages
	go test $(TESTFLAGS) ./plugins/vpp/vpptest ./plugins/linux/linuxtest ./... 2>&1 | ./.ci/summary
	set -e; for module in $(MODULES); do go -C $$module test $(TESTFLAGS) ./... 2>&1 | ./.ci/summary; done

.PHONY: test-short
test-short: build ## test all packages without the tests that take long, and those that changed nothing from the cache
	go test -short $(filter-out -v,$(TESTFLAGS)) ./...

.PHONY: nightly
nightly: deps build ## what takes too long for every change: all releases of VPP, all code for arm64, more random histories
	go test $(TESTFLAGS) ./plugins/vpp/vpptest -run '^TestEveryRelease$$' -every-release 2>&1 | ./.ci/summary
	go test $(TESTFLAGS) ./plugins/kvscheduler/internal/engine -run '^TestRandom' -rapid.checks=20000 -policies 2>&1 | ./.ci/summary
	go test $(TESTFLAGS) ./fleet/rollout -run '^TestRandomHistories$$' -histories=100000 2>&1 | ./.ci/summary
	go test $(TESTFLAGS) ./fleet/controller -run '^TestScale$$' -followers=1000 2>&1 | ./.ci/summary
	GOARCH=arm64 go vet ./...

.PHONY: race
race: ## test with the race detector (needs gcc)
	@command -v gcc >/dev/null || { echo "make race: the race detector needs gcc, which is not installed" >&2; exit 1; }
	CGO_ENABLED=1 go test -race -timeout 60m ./...

.PHONY: check
check: ## formatting, go.mod, linter, generated code
	@./.ci/check

.PHONY: generate
generate: ## generate code again
	go generate ./...

.PHONY: item
item: ## write the skeleton of an item of VPP and print what remains to be done; NAME=vpp.foo.bar, REQUEST and DUMP: messages that add and list it
	@[ -n '$(NAME)' ] || { echo "usage: make item NAME=vpp.foo.bar [REQUEST=foo_bar_add_del [DUMP=foo_bar_dump]]" >&2; exit 2; }
	@go run ./plugins/vpp/new-item $(if $(REQUEST),-request '$(REQUEST)') $(if $(DUMP),-dump '$(DUMP)') '$(NAME)'

.PHONY: webui-vendor
webui-vendor: ## fetch the libraries of the web interface again (needs npm)
	@dir=$$(mktemp -d) && cd $$dir && npm pack --silent @dagrejs/dagre@$(DAGRE) >/dev/null && tar -xzf *.tgz && \
		sed '/^\/\/# sourceMappingURL/d; s/see dagre.esm.js.LEGAL.txt/see dagre.LICENSE/' package/dist/dagre.esm.js >$(CURDIR)/plugins/webui/static/vendor/dagre.js && \
		cp package/LICENSE $(CURDIR)/plugins/webui/static/vendor/dagre.LICENSE && rm -rf $$dir
	@grep -q '| $(DAGRE) |' plugins/webui/static/vendor/README.md || { echo "write version $(DAGRE) into plugins/webui/static/vendor/README.md" >&2; exit 1; }

.PHONY: vpp-release
vpp-release: ## add TAG of VPP to the table of releases; VPP_SRC: its repository or sources; CHANGED: messages that may change
	@[ -n '$(VPP_SRC)' ] && [ -n '$(TAG)' ] || { echo "usage: make vpp-release VPP_SRC=directory TAG=v26.06 [CHANGED=message,message]" >&2; exit 2; }
	go run ./plugins/govppmux/binding/vpp-release --src '$(VPP_SRC)' $(if $(CHANGED),--changed '$(CHANGED)') $(TAG)
	go test -count=1 -run '^TestPages$$/^vpp-releases.md$$' ./docs/reference -update

.PHONY: bench
bench: ## run the benchmarks once each and compare with the budgets; BENCH=regexp selects
	go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 30m ./... 2>&1 | ./.ci/budgets -v selected=$(if $(filter .,$(BENCH)),,1)

.PHONY: sim
sim: ## the scheduler against its oracle, CASES random histories with faults; POLICIES=0: without ownership policies
	go test ./plugins/kvscheduler/internal/engine -v -run '^TestRandom$$' -rapid.checks=$(CASES) -timeout 0 $(if $(filter 0,$(POLICIES)),,-policies) | grep -vE "^(=== |PASS|    --- PASS)"

.PHONY: kills
kills: ## kill VPP (VPP_BIN) under load a hundred times, and the simulator: some minutes
	go test ./plugins/vpp/vpptest -run '^TestKilledUnderLoad$$' -v -count 15 -timeout 60m | grep -E "kills;|^(---|ok|FAIL)|NOT CHECKED|_test.go:"

.PHONY: matrix
matrix: ## every item on every kind of interface, on VPP (VPP_BIN): which combinations kill it; an hour and more
	go test ./plugins/vpp/vpptest -run '^TestMatrix$$/real' -v -count 1 -timeout 24h -matrix-all $(MATRIX) | grep -E "VPP died|combinations|^ *(---|ok|FAIL)|NOT CHECKED|^		"

.PHONY: walks
walks: ## random walks over configurations, WALKS times, on the simulators, on Linux (as root), on VPP (VPP_BIN): the state depends on the last one only
	go test ./plugins/linux/linuxtest -run '^TestWalks$$' -v -count 1 -timeout 24h -walks $(or $(WALKS),300) -real-walks $(or $(WALKS),50) $(WALK) | grep -E "walks_test.go|^ *(---|ok|FAIL)|NOT CHECKED|^        "
	go test ./plugins/vpp/vpptest -run '^TestWalks$$/^$(if $(VPP_BIN),real,simulator)$$' -v -count 1 -timeout 24h -walks $(or $(WALKS),10000) -real-walks $(or $(WALKS),300) $(WALK) | grep -E "walks_test.go|^ *(---|ok|FAIL)|NOT CHECKED|^        "

.PHONY: stalls
stalls: ## VPP (the simulator) stops answering under changes: CASES messages of unknown outcome
	go test ./plugins/vpp/vpptest -run '^TestStalls$$' -count 1 -timeout 24h -stall-cases $(or $(CASES),100000) -stall-parallel 16

.PHONY: kills-agent
kills-agent: ## kill the agent at any moment of its start and of a change, KILLS times; needs root, uses etcd
	@./.ci/need ip etcd etcdctl
	go test ./cmd/vpp-agent -run '^TestKilledAgent$$' -v -count 1 -timeout 24h -agent-values 500-2000 -agent-limit 5s -agent-kills $(or $(KILLS),1000)

.PHONY: namespaces
namespaces: ## network namespaces come and go, NAMESPACES of the kernel and 20 times as many simulated ones; needs root
	go test ./plugins/linux/linuxtest -run '^TestNamespacesComeAndGo$$' -v -count 1 -timeout 24h -real-namespaces $(or $(NAMESPACES),500) -sim-namespaces $$((20 * $(or $(NAMESPACES),500)))

.PHONY: chaos
chaos: ## VPP (the simulator) and etcd fail, and the agent is killed, for ROUNDS rounds; needs root
	@./.ci/need ip etcd etcdctl
	go test ./cmd/vpp-agent -run '^TestChaos$$' -v -count 1 -timeout 24h -agent-values 100-1000 -agent-chaos $(or $(ROUNDS),1000)

.PHONY: fuzz
fuzz: ## fuzz every parser of outside input, FUZZTIME each
	@set -e; for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' $$pkg/*_test.go | cut -d' ' -f2); do \
			echo "$$pkg $$f"; go test $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) >/tmp/fuzz.$$$$ 2>&1 \
				|| { cat /tmp/fuzz.$$$$; rm -f /tmp/fuzz.$$$$; exit 1; }; rm -f /tmp/fuzz.$$$$; \
		done; done

.PHONY: tutorials
tutorials: ## run the tutorials and examples, those without an end for three seconds
	@./.ci/tutorials

.PHONY: get-desc-adapter-generator
get-desc-adapter-generator: ## install the descriptor-adapter command
	go install ./plugins/kvscheduler/descriptor-adapter

# Packages and images of the same commit have the same bytes: the time is that of the commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
ARCHES  := amd64 arm64
SHIPPED := vpp-agent vpp-agent-init tenuto-controller agentctl
IMAGE   := dist/vpp-agent-$(VERSION).tar

.PHONY: programs
programs:
	@for arch in $(ARCHES); do \
		mkdir -p dist/bin/$$arch && GOARCH=$$arch go build -tags '$(TAGS)' -trimpath -ldflags '$(LDFLAGS)' -o dist/bin/$$arch/ $(addprefix ./cmd/,$(SHIPPED)) || exit 1; \
	done

.PHONY: deb
deb: programs ## build Debian packages for amd64 and arm64 into dist/
	@./.ci/need dpkg-deb
	@go build -o dist/man ./deploy/debian/man
	@for arch in $(ARCHES); do \
		./deploy/debian/build $$arch '$(VERSION)' dist/bin/$$arch "dist/bin/$$(go env GOHOSTARCH)/agentctl" dist/man dist || exit 1; \
	done

.PHONY: image
image: programs ## build an OCI image for amd64 and arm64 into dist/, without a daemon
	@go -C deploy/image run . -programs '$(CURDIR)/dist/bin' -license '$(CURDIR)/LICENSE' -version '$(VERSION)' \
		-revision '$(COMMIT)' -created $(SOURCE_DATE_EPOCH) -out '$(CURDIR)/$(IMAGE)' && echo '$(IMAGE)'

.PHONY: check-packages
check-packages: ## build packages and image twice, compare and check them; build the kustomizations
	@./.ci/packages

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
