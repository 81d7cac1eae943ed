#!/bin/sh
# Applies what a cluster needs before Argo CD runs in it, up to step 020 of the fleet, and
# waits after each file until the next may come. Written by cmp fleet bootstrap.
#
# It can be run again: what is there and the same stays as it is.
set -eu

timeout=300
conflicts=

usage() {
	echo "usage: apply.sh [--timeout SECONDS] [--force-conflicts]" >&2
	echo "  --timeout          how long to wait for each object ($timeout)" >&2
	echo "  --force-conflicts  take over fields that others have changed" >&2
	echo "KUBECTL names another kubectl; it goes to the cluster of its current context." >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--timeout)
		[ $# -ge 2 ] || usage
		timeout=$2
		shift
		;;
	--timeout=*) timeout=${1#*=} ;;
	--force-conflicts) conflicts=--force-conflicts ;;
	*) usage ;;
	esac
	shift
done
case $timeout in
'' | *[!0-9]*) usage ;;
esac

kubectl=${KUBECTL:-kubectl}
dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# What is applied server-side may be larger than an annotation, and Argo CD
# takes it over without a difference.
apply() {
	echo "==> $1"
	"$kubectl" apply --server-side --field-manager=ladder-bootstrap ${conflicts:+"$conflicts"} -f "$dir/$1"
}

# An object that has just been applied may have no status yet, of which kubectl
# makes an error; so it is asked again until the time is over.
ready() {
	end=$(($(date +%s) + timeout))
	left=$timeout
	until "$kubectl" "$@" --timeout="${left}s"; do
		left=$((end - $(date +%s)))
		if [ "$left" -le 0 ]; then
			echo "apply.sh: not ready within ${timeout}s: $*" >&2
			echo "apply.sh: mend that and run this again; what is applied stays" >&2
			exit 1
		fi
		sleep 1
	done
}

# Replicas that must not share a node are not all ready where there are fewer nodes.
one() {
	end=$(($(date +%s) + timeout))
	until [ "$("$kubectl" get "$@" -o 'jsonpath={.status.readyReplicas}')" -ge 1 ] 2>/dev/null; do
		if [ "$(date +%s)" -ge "$end" ]; then
			echo "apply.sh: no replica is ready within ${timeout}s: $*" >&2
			echo "apply.sh: fix that and run this again; what is applied stays" >&2
			exit 1
		fi
		sleep 1
	done
}

# gateway-api of step 010, CRDs.
apply 00-gateway-api.yaml
ready wait --for=condition=Established customresourcedefinition.apiextensions.k8s.io/gatewayclasses.gateway.networking.k8s.io # condition Established

# engine of step 020, operators.
apply 01-engine-1.yaml
ready wait --for=condition=Complete job.batch/prepare --namespace=engine-system # condition Complete

# engine of step 020, operators.
apply 02-engine-2.yaml
ready wait --for=condition=Established customresourcedefinition.apiextensions.k8s.io/engines.engine.example.com # condition Established

# engine of step 020, operators.
apply 03-engine-3.yaml
ready rollout status deployment.apps/engine --namespace=engine-system # all replicas updated and available

# engine of step 020, operators.
apply 04-engine-4.yaml
ready wait --for=condition=Complete job.batch/greet --namespace=engine-system # condition Complete

# network of step 020, operators.
apply 05-network.yaml
ready rollout status daemonset.apps/network --namespace=kube-system # a Pod updated and available on every node
ready wait --for=condition=Accepted gatewayclass.gateway.networking.k8s.io/network # condition Accepted

echo "Everything up to step 020 is ready."
