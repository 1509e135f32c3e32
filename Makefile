# Every recipe line also works when typed, as make prints it. `make` alone lists the targets.

.DEFAULT_GOAL := help
.PHONY: help build test test/long lint lint/prove run up down bench chaos nodes docs tidy verify tools upgrade licences sbom reproducible release k8s/prove

help: ## list the targets
	@grep -hE '^[a-z0-9/%<>]+:.*## ' Makefile | awk -F ':.*## ' '{sub("%", "<service>", $$1); printf "  make %-16s %s\n", $$1, $$2}'

# Version and commit in binaries and /metrics.
VERSION ?= $(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
STAMP = -X causeway.internal/libs/version.number=$(VERSION) -X causeway.internal/libs/version.revision=$(REVISION)

# Everything is compiled as the product is, so that the linter, the checks and the tests share its packages in the build
# cache. Only the race detector needs cgo, and bin/stack test gives it to those tests.
export CGO_ENABLED = 0
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

build: ## build the six services, the signer, the launcher and the merchants' tool into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "$(STAMP)" -o bin/ ./gateway/... ./services/payments/... ./services/wallets/... ./services/reports/... ./services/callback-dispatcher/... ./services/console/... ./deploy/stack

run: build ## run the whole product here, walk one payment, stay until ctrl-C
	bin/stack run

up: build ## the same in the background; .stack/env holds what a client needs
	bin/stack up

down: ## stop everything
	go run ./deploy/stack down

test: build ## everything that a change must pass, on a stack of its own
	bin/stack test

test/long: build ## the same and the broad and slow tests, all chaos among them (an hour and a half on two cores)
	bin/stack test --long

lint: tools ## the linter, with the import directions of the design
	bin/golangci-lint run $$(go list -m -f '{{.Dir}}/...')

lint/prove: tools ## break each rule of the linter in a copy of the tree and see it found
	deploy/lint/prove bin/golangci-lint

bench: build ## throughput, latency and CPU per operation against yardsticks of the same run; ARGS='--row settle' for some rows
	bin/stack exec --split --dir .stack/bench --env payments:OWED_EVERY=30m --env payments:TREASURY_EVERY=5m -- go run ./deploy/bench $(ARGS)

chaos: build nodes ## kills and network faults under load, on simulated and private chains, with an auditor
	go run ./deploy/chaos live -- --private --split --replicas 2 --toxic --dir .stack/chaos -- --patience 10m

nodes: ## build and install the nodes of private chains (deploy/realchain)
	GOWORK=off go build -C deploy/realchain -o bin/ . github.com/btcsuite/btcd
	npm ci --prefix deploy/realchain/surfpool --prefer-offline --no-audit --no-fund

upgrade: build ## a rolling upgrade under load from the last release, old and new side by side, with the auditor
	deploy/upgrade/run

tidy: tools ## tidy every module, align their versions, format
	go work sync
	for dir in $$(go list -m -f '{{.Dir}}'); do go -C $$dir mod tidy || exit 1; done
	bin/gofumpt -w $$(go list -m -f '{{.Dir}}')

docs: ## render the generated pages of docs/, the golden messages and schemas, and the types of the clients again
	UPDATE=1 go test -count=1 -p 1 -run TestConfigPage ./gateway ./services/payments ./services/wallets ./services/wallets/cmd/signer ./services/reports ./services/callback-dispatcher ./services/console
	go test -count=1 ./libs/wire -update
	go test -count=1 -run Docs ./services/payments/internal/payment -update
	UPDATE=1 go test -count=1 -run 'TestSchemas$$' ./gateway
	UPDATE=1 go test -count=1 -run 'TestClients$$' ./gateway/sdk/generate
	UPDATE=1 go test -count=1 -run 'TestGuide$$' ./gateway/internal/page
	UPDATE=1 go test -count=1 -run TestHelp_everywhere ./gateway/cmd/causeway

verify: tools ## modules tidy, listed, unchanged and licensed, generated pages current, files formatted, go vet
	for dir in $$(go list -m -f '{{.Dir}}'); do go -C $$dir mod tidy -diff || exit 1; done
	deploy/lint/modules
	go mod verify
	GOWORK=off go test -C deploy/check -count=1 -run TestLicences .
	go test -run 'TestConfigPage|TestMessages_golden|TestEventsPage|TestDocs|TestSchemas|TestClients|TestGuide$$|TestHelp_everywhere' ./gateway ./gateway/internal/page ./gateway/cmd/causeway ./gateway/sdk/generate ./libs/wire ./services/payments ./services/payments/internal/payment ./services/wallets ./services/wallets/cmd/signer ./services/reports ./services/callback-dispatcher ./services/console
	test -z "$$(bin/gofumpt -l $$(go list -m -f '{{.Dir}}') deploy/realchain deploy/check | tee /dev/stderr)"
	go vet -tags integration,long work

tools: bin/golangci-lint bin/gofumpt ## install the tools that make uses into bin/

bin/golangci-lint:
	GOWORK=off GOBIN=$$PWD/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

bin/gofumpt:
	GOWORK=off GOBIN=$$PWD/bin go install mvdan.cc/gofumpt@v0.12.0

licences: ## write docs/licences.md: what is compiled into the shipped programs, and under which licence
	UPDATE=1 GOWORK=off go test -C deploy/check -count=1 -run TestLicences .

sbom: build ## a bill of materials of each program (CycloneDX), and all licence texts, in bin/sbom/
	GOWORK=off go run -C deploy/check ./supply/bill ../.. ../../bin ../../bin/sbom $(VERSION)
	ls bin/sbom

reproducible: ## build every program twice, in two directories and with two caches, and compare (minutes)
	deploy/lint/reproducible

# The digests of images and the base of the next upgrade name this commit: they are written, and committed after it.
OUT ?= bin/release/$(VERSION)
release: ## the files of a version, signed, in OUT; with REGISTRY and COSIGN_KEY its images too: VERSION=v1.2.3 KEY=FILE (docs/deploy.md)
	test -z "$$(git status --porcelain -- . ':!k8s/overlays/prod/release' ':!deploy/upgrade/from')" || { echo "commit first: the programs name the commit" >&2; exit 1; }
	test "$$(git rev-parse --verify --quiet 'refs/tags/$(VERSION)^{commit}')" = '$(REVISION)' || { echo "tag this commit first: git tag -s $(VERSION) -m $(VERSION)" >&2; exit 1; }
	GOWORK=off go run -C deploy/check ./release/publish -source ../.. -version '$(VERSION)' -revision '$(REVISION)' -to '$(abspath $(OUT))' -key '$(abspath $(KEY))' -registry '$(REGISTRY)' -cosign-key '$(COSIGN_KEY)'
	sed -i 's/^[0-9a-f]\{40\}$$/$(REVISION)/' deploy/upgrade/from
	ls -l '$(OUT)'

k8s/prove: bin/kube-apiserver ## apply the manifests to a real API server with the operators' definitions (the first build takes long)
	GOWORK=off go run -C deploy/check ./prove ../.. $$(deploy/check/program etcd etcd-server) $$PWD/bin/kube-apiserver

bin/kube-apiserver: deploy/cluster/go.mod
	GOWORK=off CGO_ENABLED=0 go build -C deploy/cluster -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(sed -n 's,^.*k8s.io/kubernetes \(v[^ ]*\).*,\1,p' deploy/cluster/go.mod)" -o $$PWD/bin/ k8s.io/kubernetes/cmd/kube-apiserver

image/%: ## build a service's container image, or without a Docker engine its files
	deploy/docker/image $*
