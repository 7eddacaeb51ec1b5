# latlab: `make help` lists the targets, a line each.

GO      ?= go
BIN     := .bin
MODULES := $(shell sed -n 's|^	\./||p' go.work)
PEERS   := common/metrics/peers common/load/peers coldfetch/conformance experiments/page/browser

# Engine io_uring is built in on Linux. Its library links only with this flag.
ifeq ($(shell $(GO) env GOOS),linux)
TAGS := -tags giouring -ldflags=-checklinkname=0
endif

.PHONY: help build demo suite reference report axe browser browser-bench picture test race vet cross tidy staticcheck lint fuzz deps postgis postgis-up postgis-down s3 conformance crash disk nvme-plan nvme nvme-vm fio-compare bench-modelled bench-measured benchstat cost peers peers-list aa explore soak bundle pgbench-compare rename clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | sort | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

build: ## build the command: .bin/latlab
	$(GO) build -buildvcs=auto $(TAGS) -o $(BIN)/ ./experiments/cmd/latlab

DEMO := results/demo

demo: build ## run the models of all cases, some real code on fakes, and one real file; write report.html (under a minute once built)
	@rm -rf $(DEMO)
	$(BIN)/latlab run --kind virtual --judged --blocks 6 --seed 1 --out $(DEMO)
	$(BIN)/latlab run coldfetch/herd --rig bubble --judged --blocks 6 --seed 1 --out $(DEMO)
	$(BIN)/latlab run spatial/rowlog --rig bubble --set rowlog=row,summary --judged --blocks 6 --seed 1 --out $(DEMO)
	$(BIN)/latlab run rawblock/putmany --rig channels,file --available --cross strategy --blocks 7 --min 200ms --out $(DEMO)
	$(BIN)/latlab report $(DEMO)

suite: build ## run every model and every fake in virtual time, all arms, and write report.html (some ten minutes)
	$(BIN)/latlab run --kind virtual --seed 1 --out results/suite
	$(BIN)/latlab run --kind bubble --judged --blocks 6 --budget 1h --seed 1 --out results/suite
	$(BIN)/latlab report results/suite

reference: ## run all models and write experiments/reference anew: after a model was meant to change
	cd experiments && $(GO) test -count=1 -timeout 30m ./reference -args -update

report: build ## one HTML file of ./results, which opens offline: report.html
	$(BIN)/latlab report

test: vet ## run all tests of all modules
	$(GO) test $(TAGS) work

# What these run is the cases' code, which is raced in packages of its own; with the
# detector they take many minutes.
NORACE := '/(study|lesson|reference|registry|internal/cli|internal/scaffold)$$'

race: ## run the tests of all concurrent code with the race detector, the long ones shortened
	$(GO) test -race -short $(TAGS) $$($(GO) list work | grep -vE $(NORACE))

vet: ## build and vet every module, in the workspace and alone, with and without engine io_uring
	@for m in $(MODULES); do echo "vet $$m"; (cd $$m && \
		$(GO) vet ./... && GOWORK=off $(GO) build ./... && GOWORK=off $(GO) vet ./... && \
		GOWORK=off $(GO) vet $(TAGS) ./...) || exit 1; done

cross: ## build every module for macOS and Windows
	@for os in darwin/arm64 windows/amd64; do for m in $(MODULES); do echo "build $$m for $$os"; \
		(cd $$m && GOOS=$${os%/*} GOARCH=$${os#*/} $(GO) build ./...) || exit 1; done; done

tidy: ## fail if go mod tidy or go work sync would change anything
	@for m in $(MODULES) $(PEERS); do echo "tidy $$m"; (cd $$m && GOWORK=off $(GO) mod tidy -diff) || exit 1; done
	@rm -rf $(BIN)/sync && mkdir -p $(BIN)/sync && git ls-files -z | xargs -0 cp --parents -t $(BIN)/sync && \
		cd $(BIN)/sync && $(GO) work sync && for f in go.work $(MODULES:%=%/go.mod) $(MODULES:%=%/go.sum); do \
		test ! -e $$f || cmp $$f ../../$$f || exit 1; done && cd ../.. && rm -rf $(BIN)/sync

staticcheck: ## run staticcheck, at the version pinned in tools/
	cd tools && GOWORK=off $(GO) build -o ../$(BIN)/ honnef.co/go/tools/cmd/staticcheck
	@for m in $(MODULES); do echo "staticcheck $$m"; (cd $$m && ../$(BIN)/staticcheck ./... && ../$(BIN)/staticcheck -tags giouring ./...) || exit 1; done

lint: ## run golangci-lint, at the version pinned in tools/ (its first build takes minutes)
	cd tools && GOWORK=off $(GO) build -o ../$(BIN)/ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@for m in $(MODULES); do echo "lint $$m"; (cd $$m && ../$(BIN)/golangci-lint run ./...) || exit 1; done

FUZZTIME ?= 10s
fuzz: ## run each fuzz target for 10 s, or FUZZTIME=1m, or FUZZTIME=5000x inputs
	@for m in $(MODULES); do (cd $$m && for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do echo "fuzz $$p $$f"; \
		$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done) || exit 1; done

deps: ## what the real rigs need, once: PostGIS from Debian (as root), and an S3 server built from the Go proxy
	@command -v psql >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1 || \
		apt-get install -y --no-install-recommends postgresql-15 postgresql-15-postgis-3
	$(GO) run ./coldfetch/cmd/s3 build -bin $(BIN)

postgis: build ## a private PostGIS with the data, an experiment on it, and nothing left of it
	cd spatial && $(GO) run ./cmd/postgis run -- ../$(BIN)/latlab run spatial/pool-size --rig postgis --blocks 1 --set pool=10,15

postgis-up: ## a private PostGIS with the data, which keeps running; prints what LATLAB_POSTGIS must be
	@cd spatial && $(GO) run ./cmd/postgis up

postgis-down: ## stop what postgis-up started, and remove it
	cd spatial && $(GO) run ./cmd/postgis down

s3: ## a real S3 server on loopback until Ctrl-C; prints the variables that name it
	$(GO) run ./coldfetch/cmd/s3 serve -bin $(BIN)

conformance: ## ask the fakes and the real servers the same; writes docs/conformance.md (starts a PostGIS unless LATLAB_POSTGIS names one)
	docs/conformance.sh

AXE := .cache/axe/package/axe.min.js

$(AXE):
	mkdir -p .cache/axe && cd .cache/axe && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz

axe: $(AXE) ## fetch axe-core for the browser test

BROWSER := cd experiments/page/browser && LATLAB_AXE="$(CURDIR)/$(AXE)" GOWORK=off $(GO) test -count=1

browser: axe ## open a report in Chromium: light, dark, phone, paper, keyboard, axe-core; pictures in .cache/_artifacts
	$(BROWSER) -artifacts -outputdir "$(CURDIR)/.cache" ./...

browser-bench: axe ## how fast a report opens, and a toggle of the models' page moves its pictures
	$(BROWSER) -run '^$$' -bench . -benchtime 5x .

picture: build ## the README's picture of a report: docs/report.png (needs Chromium; take a quiet host)
	rm -rf .cache/picture
	$(BIN)/latlab run rawblock/putmany --rig channels,file --cross strategy --blocks 7 --out .cache/picture
	$(BIN)/latlab run rawblock/break-even --rig model --out .cache/picture
	$(BIN)/latlab report .cache/picture --out .cache/picture.html
	cd experiments/page/browser && GOWORK=off $(GO) run ./picture -height 1700 -report ../../../.cache/picture.html -out ../../../docs/report.png

crash: ## replay half a million states that a crash may leave of a store
	cd rawblock && LATLAB_CRASH_STATES=500000 $(GO) test -count=1 -v -run TestRandomHistories ./crash

disk: build ## measure on a real file in a folder: make disk DIR=/mnt/disk
	$(BIN)/latlab run rawblock/putmany --rig file --cross strategy --dir "$(DIR)"

nvme-plan: ## show what a run on a real device would write to; reads only: make nvme-plan DEV=/dev/nvme1n1
	$(GO) build $(TAGS) -o $(BIN)/ ./rawblock/cmd/rawdisk && $(BIN)/rawdisk plan "$(DEV)"

nvme: build ## check, then measure on a real device; what it holds is lost: make nvme DEV=/dev/nvme1n1 CONFIRM=serial
	$(GO) build $(TAGS) -o $(BIN)/ ./rawblock/cmd/rawdisk && $(BIN)/rawdisk run "$(DEV)" --confirm "$(CONFIRM)"
	LATLAB_NVME_DEV="$(DEV)" LATLAB_NVME_CONFIRM="$(CONFIRM)" $(BIN)/latlab run rawblock/putmany --rig nvme --cross strategy

nvme-vm: ## guards and checks on an emulated NVMe drive, 512 and 4096 (needs qemu-system-x86; nothing is timed)
	$(GO) run ./rawblock/vm -cache .cache/nvme-vm

fio-compare: ## our engine against fio on the same file, in turns (needs fio)
	cd rawblock && $(GO) run $(TAGS) ./fiocompare

bench-modelled: ## go test -bench on the models and fakes of all cases; prints provenance: modelled
	cd rawblock && $(GO) test $(TAGS) -run '^$$' -bench BenchmarkModelled .
	cd aerospike && $(GO) test -run '^$$' -bench BenchmarkModelled -benchtime 100x .
	cd spatial && $(GO) test -run '^$$' -bench BenchmarkModelled -benchtime 100x .
	cd coldfetch && $(GO) test -run '^$$' -bench BenchmarkModelled -benchtime 100x .

bench-measured: ## go test -bench on a real file (LATLAB_DIR names its folder), PostGIS and S3 where they are named; prints provenance: measured
	cd rawblock && $(GO) test $(TAGS) -run '^$$' -bench BenchmarkMeasured .
	cd spatial && $(GO) test -run '^$$' -bench BenchmarkMeasured -benchtime 100x .
	cd coldfetch && $(GO) test -run '^$$' -bench BenchmarkMeasured -benchtime 60x .

peers-list:
	@echo $(PEERS)

cost: ## what stage timing costs here, off and on
	cd common && $(GO) test -run '^$$' -bench BenchmarkCost ./metrics

peers: ## compare with others: histograms (Prometheus, HdrHistogram, ...), load generator (vegeta)
	cd common/metrics/peers && GOWORK=off $(GO) test -run '^$$' -bench . .
	cd common/load/peers && GOWORK=off $(GO) run .

explore: build ## make explore.html: the models' page, with the models inside it; opens from disk
	GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags='-s -w' -o $(BIN)/explore.wasm ./experiments/cmd/explore-wasm
	cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" $(BIN)/
	$(BIN)/latlab report --explore

rename: ## rename the module path everywhere: make rename TO=example.org/lab
	@printf '%s\n' '$(TO)' | grep -qxE '[a-z0-9]+([.-][a-z0-9]+)+(/[A-Za-z0-9._-]+)*' || \
		{ echo "rename: TO='$(TO)' is no module path; say make rename TO=example.org/lab" >&2; exit 2; }
	@git grep -q 'latlab\.example' -- go.work '*/go.mod' || { echo "rename: the modules have another path already; nothing was changed" >&2; exit 1; }
	git grep -lz 'latlab\.example' -- ':!Makefile' | xargs -0 sed -i.orig 's#latlab\.example#$(TO)#g'
	git ls-files -z --others '*.orig' | xargs -0 rm -f
	gofmt -w $$(git ls-files '*.go')

aa: ## 200 A/A runs of each experiment: how often a difference is called where there is none
	cd experiments && LATLAB_AA_RUNS=200 $(GO) test -count=1 -timeout 60m -v -run 'TestAA$$' ./registry

benchstat: ## build benchstat, at the version pinned in tools/: .bin/benchstat old.txt new.txt
	cd tools && GOWORK=off $(GO) build -o ../$(BIN)/ golang.org/x/perf/cmd/benchstat

soak: ## random faults on every case's emulated rig: make soak MINUTES=10; to replay: make soak CASE=rawblock SEED=7
	cd experiments && $(GO) run ./cmd/soak $(if $(SEED),-seed $(SEED) -turns $(or $(TURNS),1),-for $(or $(MINUTES),10)m) $(if $(CASE),-case $(CASE))

bundle: demo explore ## all that a class without internet needs: code, dependencies, data, report, models' page; needs Go there
	rm -rf $(BIN)/bundle && mkdir -p $(BIN)/bundle/latlab
	git archive HEAD | tar -x -C $(BIN)/bundle/latlab
	cd $(BIN)/bundle/latlab && $(GO) work vendor
	cp report.html explore.html $(BIN)/bundle/latlab/
	tar -czf $(BIN)/latlab-bundle.tar.gz -C $(BIN)/bundle latlab
	@ls -lh $(BIN)/latlab-bundle.tar.gz

pgbench-compare: ## our load generator against pgbench on the same PostGIS, in turns (needs LATLAB_POSTGIS and pgbench)
	cd spatial && $(GO) run ./pgbenchcompare

clean: ## remove what was built (results stay)
	rm -rf $(BIN)
