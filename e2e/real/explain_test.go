package real_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// explain states why a sync ended as it did: what Argo CD reports, which Pods do not run
// and why, and the cluster's warnings.
func (l *lab) explain(ctx context.Context, out outcome) string {
	var b strings.Builder
	b.WriteString(l.argo.Explain(out.Outcome, ""))
	b.WriteByte('\n')
	pods, err := l.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return b.String() + err.Error()
	}
	for i := range pods.Items {
		if text := trouble(&pods.Items[i]); text != "" {
			fmt.Fprintf(&b, "Pod %s/%s: %s\n", pods.Items[i].Namespace, pods.Items[i].Name, text)
		}
	}
	warnings, err := l.node.Warnings(ctx, metav1.NamespaceAll)
	if err != nil {
		return b.String() + err.Error()
	}
	for _, w := range warnings {
		fmt.Fprintln(&b, w)
	}
	b.WriteString(l.ends(ctx, pods.Items))
	return b.String()
}

// trouble returns what keeps a Pod from becoming ready or from succeeding.
func trouble(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded {
		return ""
	}
	var parts []string
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.PodReady || c.Type == corev1.PodScheduled) && c.Status != corev1.ConditionTrue {
			parts = append(parts, fmt.Sprintf("not %s: %s %s", c.Type, c.Reason, c.Message))
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if s.State.Waiting != nil && s.State.Waiting.Reason != "PodInitializing" {
				parts = append(parts, fmt.Sprintf("%s waits: %s %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message))
			}
			if s.LastTerminationState.Terminated != nil {
				parts = append(parts, fmt.Sprintf("%s ended with %d, %d restarts", s.Name, s.LastTerminationState.Terminated.ExitCode, s.RestartCount))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// ends are the last log lines of restarted programs.
func (l *lab) ends(ctx context.Context, pods []corev1.Pod) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, pod := range pods {
		if seen[pod.Namespace] {
			continue
		}
		seen[pod.Namespace] = true
		logs, err := l.node.Logs(ctx, pod.Namespace)
		if err != nil {
			return b.String() + err.Error()
		}
		for _, log := range logs {
			if log.Previous {
				lines := strings.Split(strings.TrimSpace(log.Text), "\n")
				fmt.Fprintf(&b, "%s of Pod %s/%s ended with: %s\n", log.Container, pod.Namespace, log.Pod,
					strings.Join(lines[max(0, len(lines)-3):], "\n  "))
			}
		}
	}
	return b.String()
}
