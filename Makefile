# The end-to-end suites and the conformance tests, which are modules of their own
# and build servers that take minutes the first time. docs/e2e.md is about them.
# They need etcd-server and redis-server (Debian's names), Go and git.

GO ?= go
# What runs at the same time in the one cluster. Most of a case is waiting.
PARALLEL ?= 8
# Nodes that e2e-real runs at once. Each takes some two gigabytes.
NODES ?= 4
# -patient gives orders that fail all of Argo CD's retries in e2e-real: two hours.
PATIENT ?=
# A folder of rendered manifests (*.yaml, *.yaml.gz) for e2e-full.
CORPUS ?=
# What goes to the tests, such as RUN=TestUpgrade/prune.
RUN ?= .
# The fleets that are rolled out whole.
FLEETS ?= bands tiers

.PHONY: e2e e2e-full e2e-fleets e2e-node e2e-real e2e-real-seconds conformance

# What the project holds itself: about ten minutes. Prints a table; the last line
# says where the logs are.
e2e:
	$(GO) test -C e2e -count=1 -timeout 40m -parallel $(PARALLEL) -run '$(RUN)' -skip '^TestRollout$$'

# Whole fleets, each in an Argo CD of its own: about eight minutes each.
e2e-fleets:
	for fleet in $(FLEETS); do $(GO) test -C e2e -count=1 -timeout 40m -run "^TestRollout$$/^$$fleet$$" || exit; done

# A real node, and what cmp why says on it, which takes root and half an hour the first time.
e2e-node:
	$(GO) test -C e2e -count=1 -timeout 80m -p 1 ./node ./why

# Real charts with real programs on real nodes, several at once, which takes root:
# half an hour, and ninety minutes the first time. RUN=TestReality/keda/ladder is a part of it.
e2e-real:
	$(GO) test -C e2e -count=1 -timeout 240m -parallel $(NODES) -run '$(RUN)' -v ./real $(PATIENT)

# The same, one node at a time, for seconds that can be compared.
e2e-real-seconds:
	$(MAKE) e2e-real NODES=1

# All of it: the servers' own tests too, and the manifests in CORPUS.
e2e-full:
	$(GO) test -C e2e -count=1 -timeout 40m ./cluster ./double
	E2E_CORPUS='$(abspath $(CORPUS))' $(GO) test -C e2e -count=1 -timeout 120m -parallel $(PARALLEL) -run '$(RUN)' -skip '^TestRollout$$'

# Argo CD's own client code against our plugin server, real servers to fetch from,
# and kustomize and helm against our rendering.
conformance:
	$(GO) test -C conformance/sources -count=1 -timeout 10m ./...
	$(GO) test -C conformance/v3 -count=1 -timeout 40m ./...
	$(GO) test -C conformance/v2 -count=1 -timeout 40m ./...
	$(GO) test -C conformance/kustomize -count=1 -timeout 40m ./...
