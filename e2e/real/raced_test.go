package real_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ladder-cmp/ladder/e2e/argocd"
)

// jobFailed is Argo CD's error for a Job that failed for good.
var jobFailed = regexp.MustCompile(`^Job/(\S+): Job has reached the specified backoff limit$`)

// raced reports whether the only problem of a sync was that Argo CD continued a moment too
// early: see [argocd.Race]. In the same moment, a Job that tries once fails: the Pods that
// it connects to are ready, and kube-proxy does not route to them yet.
func (l *lab) raced(ctx context.Context, out argocd.Outcome, namespace string) (bool, error) {
	for _, text := range out.Errors {
		if argocd.Race(text) {
			continue
		}
		job := jobFailed.FindStringSubmatch(text)
		if job == nil {
			return false, nil
		}
		if early, err := l.refusedByReadyPods(ctx, namespace, job[1]); err != nil || !early {
			return false, err
		}
	}
	return len(out.Errors) > 0, nil
}

// refusedByReadyPods reports whether connections of a Job were refused only by Services
// that already had a ready Pod. The logs of Pods that Argo CD has deleted remain on the node.
func (l *lab) refusedByReadyPods(ctx context.Context, namespace, job string) (bool, error) {
	logs, err := filepath.Glob(filepath.Join(l.node.Dir, "pods", namespace+"_"+job+"-*", "*", "*.log"))
	if err != nil {
		return false, err
	}
	all := []refusal{}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			return false, err
		}
		all = append(all, refusals(string(text))...)
	}
	for _, r := range all {
		if ready, err := l.readyAt(ctx, r); err != nil || !ready {
			return false, err
		}
	}
	return len(all) > 0, nil
}

// readyAt reports whether a Pod of the Service that refused a connection was ready then.
func (l *lab) readyAt(ctx context.Context, r refusal) (bool, error) {
	services, err := l.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(services.Items, func(s corev1.Service) bool { return s.Spec.ClusterIP == r.address })
	if i < 0 {
		return false, nil
	}
	selector := labels.SelectorFromSet(services.Items[i].Spec.Selector).String()
	pods, err := l.client.CoreV1().Pods(services.Items[i].Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(r.time)
		})
	}), nil
}

// refusal is a connection that an address refused.
type refusal struct {
	time    time.Time
	address string
}

var refused = regexp.MustCompile(`(?m)^(\S+) std\S+ F .*\bdial tcp ([0-9.]+):[0-9]+: connect: connection refused`)

// refusals are those in a container's log, in the format of the kubelet.
func refusals(log string) (all []refusal) {
	for _, found := range refused.FindAllStringSubmatch(log, -1) {
		if at, err := time.Parse(time.RFC3339Nano, found[1]); err == nil {
			all = append(all, refusal{at, found[2]})
		}
	}
	return all
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	log := `2026-01-02T03:04:05.828755654Z stderr F shop: migrating: failed to connect:
2026-01-02T03:04:05.828776069Z stderr F 	10.96.155.49:5432 (orders-rw.shop): dial error: dial tcp 10.96.155.49:5432: connect: connection refused
2026-01-02T03:04:06Z stderr F dial tcp: lookup orders-rw: no such host
`
	want := []refusal{{time.Date(2026, 1, 2, 3, 4, 5, 828776069, time.UTC), "10.96.155.49"}}
	if got := refusals(log); !slices.Equal(got, want) {
		t.Errorf("refusals: %v; want %v", got, want)
	}
}
