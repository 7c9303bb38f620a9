# What one types here is what CI runs. `make test` installs what it needs.
SHELL := /bin/bash
GOLANGCI := v2.15.0
GOTESTSUM := v1.13.0
TOOLS := $(CURDIR)/.tools
# RERUN=1 repeats tests that failed, once, on their own, unless there was a data race or more
# failed than a machine that stood still explains. (With a subtest its test fails, too: two.)
RERUN ?=
rerun := $(if $(RERUN),--rerun-fails=$(RERUN) --rerun-fails-max-failures=6 --rerun-fails-abort-on-data-race)

.PHONY: help build test check race e2e bench claims levels matrix controls corpus fuzz fuzz-long sample goldens deps clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  \1\t/' | expand -t 16

build: ## bin/locklab
	go build -o bin/locklab ./cmd/locklab

deps: ## install the servers that the tests talk to (apt), or say what is missing
	@.ci/deps

test: deps $(TOOLS)/gotestsum ## all tests but the race and end-to-end ones; installs what they need
	$(TOOLS)/gotestsum --format pkgname-and-test-fails --jsonfile $(TOOLS)/test.json $(rerun) --packages ./... -- -p 4 -timeout 15m

# RACE=concurrent leaves out what runs in one thread (exploration, simulation, pages, scripts, readers of
# files, the cores of multiphase, whose tests explore), the benchmarks, and the roles of foreign servers,
# which only start them. Commands are run in it by the end-to-end tests, and their parts by other tests.
RACE ?= ./...
alone := verify|reports|terraform|bench|multiphase/core|multiphase/quorum|scenario|topology|result|catalog|etcdnode|postgresnode|zookeepernode
concurrent := $$(go list ./... | grep -vE '/($(alone))(/|$$)|/cmd/locklab$$')

race: deps $(TOOLS)/gotestsum ## the same tests under the race detector (RACE=concurrent: where there is more than one thread)
	$(TOOLS)/gotestsum --format pkgname-and-test-fails --jsonfile $(TOOLS)/race.json $(rerun) --packages "$(if $(filter concurrent,$(RACE)),$(concurrent),$(RACE))" -- -race -p 4 -timeout 20m

e2e: deps $(TOOLS)/gotestsum ## the real binary as a user runs it
	$(TOOLS)/gotestsum --format standard-verbose --jsonfile $(TOOLS)/e2e.json $(rerun) --packages './cmd/locklab ./locks/adapters' -- -tags e2e -count 1 -parallel 4 -timeout 40m -run '^TestE2E'

check: $(TOOLS)/golangci-lint ## formatting, vet, lint and go.mod
	$(TOOLS)/golangci-lint run ./...
	go mod verify >/dev/null
	go mod tidy -diff

bench: deps ## the figures to reach, as ratios of interleaved runs (BENCH="-rows redlock -check")
	go test -c -o bin/bench ./cmd/bench
	bin/bench -test.run '^$$' -test.bench . -test.benchtime 1x $(BENCH)

# FUZZ=parsers takes those that read what users write; or any packages.
FUZZ ?= ./...
# A number of inputs, not a time: at the end of a time go test -fuzz can report
# "context deadline exceeded" though nothing was found (golang/go issue 75804).
FUZZTIME ?= 100000x
parsers := ./locks ./internal/strictyaml ./nodes/topology ./chaos/scenario ./workloads/history ./workloads/result

fuzz: ## 100,000 inputs for every fuzz target (FUZZ=parsers: of the parsers of user files)
	@set -e; for pkg in $$(go list $(if $(filter parsers,$(FUZZ)),$(parsers),$(FUZZ))); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$pkg; \
		done; done

fuzz-long: ## a million inputs for every fuzz target: for the night
	$(MAKE) fuzz FUZZTIME=1000000x

# A page until the end of its first plots.
picture := chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1648 --screenshot

sample: deps build ## run the headline comparison again; reports/sample keeps its figures, summary, picture and one history (wants fonts-noto-cjk)
	rm -rf reports/runs/sample
	bin/locklab run --seed 1 --out reports/runs/sample
	rm -rf reports/sample
	mv reports/runs/sample reports/sample
	gzip -9n reports/sample/histories/*/*.jsonl
	sed -i 's/\.jsonl"/.jsonl.gz"/' reports/sample/result.json
	rm -rf reports/sample/lab.log reports/sample/logs
	bin/locklab report reports/sample
	$(picture)=reports/sample/screenshot.png 'file://$(CURDIR)/reports/sample/index.html'
	$(picture)=reports/sample/screenshot.ko.png 'file://$(CURDIR)/reports/sample/index.ko.html'
	cd reports/sample && rm -f *.html *.csv && find histories -type f ! -path '*/multiphase/zone-partition*' -delete && find histories -type d -empty -delete

# What a suite prints at its end is kept in reports/grids. A row that the machine left
# undecided is measured once more; exit code 4 says that some still are.
grid = | grep -v '^report: ' >reports/grids/$(1).txt; code=$${PIPESTATUS[0]}; test $$code -eq 0 -o $$code -eq 4
again = bin/locklab run --resume $(2) --redo inconclusive $(call grid,$(1))

# GOON=1 goes on with a run of it that was interrupted.
claims: deps build ## run the suite of claims again and write what it shows into reports/seeds
	@test -n "$(GOON)" || rm -rf reports/seeds/result.json reports/seeds/histories
	bin/locklab run $(if $(GOON),--resume reports/seeds,--suite seeds --seed 1 --out reports/seeds) $(call grid,seeds)
	find reports/seeds -mindepth 1 ! -name result.json ! -name '*.md' -delete

# LEVELS=N for so many; ADD= begins a new table. What was interrupted goes on.
LEVELS ?= 20
ADD ?= --add
levels: deps build ## runs until each cell of the table of named anomalies in reports/levels has 20 tries
	go -C locks/adapters/go install ./...
	PATH="$$(go env GOPATH)/bin:$$PATH" bin/locklab levels --tries $(LEVELS) --out reports/runs/levels-$(LEVELS) \
		--publish reports/levels $(ADD)
	mv reports/runs/levels-$(LEVELS) reports/runs/levels-$(LEVELS)-$(STAMP)

# The name is made once for all lines of a target.
STAMP := $(shell date +%s)
SUITE_OUT = reports/runs/$@-$(STAMP)
matrix: deps build ## every lock and variant under every scenario that applies, about two hours
	bin/locklab run --suite matrix --seed 1 --out $(SUITE_OUT) $(call grid,matrix)
	$(call again,matrix,$(SUITE_OUT))

TRIES ?= 20
SAFE ?= 100
controls: deps build ## how often each control fires, and that safe cells never do (TRIES=20 SAFE=100), about 70 minutes
	bin/locklab run --suite controls --repeat $(TRIES) --seed 1 --out $(SUITE_OUT) $(call grid,controls)
	bin/locklab run --suite safe --repeat $(SAFE) --seed 1 --out $(SUITE_OUT)-safe $(call grid,safe)

corpus: deps build ## hundreds of histories of real runs in CORPUS=DIR, about two hours, and the checker's words beside those of MEASURES=measures.py
	.ci/corpus $(or $(CORPUS),$(error corpus wants CORPUS=DIR, outside the repository)) $(MEASURES)

goldens: ## write the golden files of reports, explorations and transcripts anew: look at the difference before it is committed
	REWRITE=1 go test ./reports/view ./reports/why ./workloads/check ./locks/multiphase/core \
		./locks/multiphase/quorum ./locks/twophase ./verify/explore ./cmd/locklab -run 'Golden|Transcripts|Diagrams'

clean: ## what builds and runs left behind
	rm -rf bin .tools reports/runs

$(TOOLS)/golangci-lint:
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)

$(TOOLS)/gotestsum:
	GOBIN=$(TOOLS) go install gotest.tools/gotestsum@$(GOTESTSUM)
