package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Restart is a container that ended and was started again.
type Restart struct {
	Pod, Container string
	Count          int
	Reason         string // of its last end, such as Error, OOMKilled or Completed
	ExitCode       int    // of its last end
}

// Log is what a container has written.
type Log struct {
	Pod, Container string
	Previous       bool // by its run before the present one
	Text           string
}

// Warning is an Event of type Warning, such as a failed mount or probe.
type Warning struct {
	Time    time.Time // when it was last seen
	Object  string    // such as Pod/web-0
	Reason  string
	Message string
	Count   int
}

// String formats it as one readable line.
func (w Warning) String() string {
	return fmt.Sprintf("%s %s %s: %s (%d times)", w.Time.Format(time.TimeOnly), w.Object, w.Reason, w.Message, w.Count)
}

// Restarts returns the restarted containers of a namespace, including init containers.
// It does not know those of deleted Pods.
func (n *Node) Restarts(ctx context.Context, namespace string) ([]Restart, error) {
	pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading restarts in namespace %s: %w", namespace, err)
	}
	var restarts []Restart
	for _, pod := range pods.Items {
		for _, status := range containersOf(&pod) {
			if status.RestartCount == 0 {
				continue
			}
			restart := Restart{Pod: pod.Name, Container: status.Name, Count: int(status.RestartCount)}
			if end := cmp.Or(status.LastTerminationState.Terminated, status.State.Terminated); end != nil {
				restart.Reason, restart.ExitCode = end.Reason, int(end.ExitCode)
			}
			restarts = append(restarts, restart)
		}
	}
	return restarts, nil
}

// containersOf are the statuses of a Pod's containers in the order in which they start.
func containersOf(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// Logs reads what the containers of a namespace have written: the present run and the
// one before. A container that has not run has no log. Logs that cannot be read are in
// the error; all others are returned.
func (n *Node) Logs(ctx context.Context, namespace string) ([]Log, error) {
	pods, err := n.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading logs in namespace %s: %w", namespace, err)
	}
	var logs []Log
	var faults []error
	for _, pod := range pods.Items {
		for _, status := range containersOf(&pod) {
			for _, previous := range []bool{true, false} {
				if previous && status.RestartCount == 0 {
					continue
				}
				text, err := n.client.CoreV1().Pods(namespace).GetLogs(pod.Name,
					&corev1.PodLogOptions{Container: status.Name, Previous: previous}).DoRaw(ctx)
				switch {
				case err == nil:
					logs = append(logs, Log{Pod: pod.Name, Container: status.Name, Previous: previous, Text: string(text)})
				case apierrors.IsBadRequest(err) || apierrors.IsNotFound(err): // it waits to start, or has just gone
				default:
					faults = append(faults, fmt.Errorf("reading the log of Pod %s/%s, container %s: %w", namespace, pod.Name, status.Name, err))
				}
			}
		}
	}
	return logs, errors.Join(faults...)
}

// Warnings reads the Events of type Warning of a namespace, or of all if it is empty, by
// time.
func (n *Node) Warnings(ctx context.Context, namespace string) ([]Warning, error) {
	events, err := n.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return nil, fmt.Errorf("reading Events in namespace %s: %w", namespace, err)
	}
	var warnings []Warning
	for _, e := range events.Items {
		w := Warning{Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, Reason: e.Reason, Message: e.Message,
			Count: max(1, int(e.Count))}
		// Events have one of three forms, by the age of the client that wrote them.
		switch {
		case e.Series != nil:
			w.Time, w.Count = e.Series.LastObservedTime.Time, int(e.Series.Count)
		case !e.LastTimestamp.IsZero():
			w.Time = e.LastTimestamp.Time
		default:
			w.Time = e.EventTime.Time
		}
		warnings = append(warnings, w)
	}
	slices.SortStableFunc(warnings, func(a, b Warning) int { return a.Time.Compare(b.Time) })
	return warnings, nil
}
