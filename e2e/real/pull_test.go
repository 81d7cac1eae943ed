package real_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pull has the node pull the images of a case before its sync begins, so that the order
// that runs first in a case does not pay for what the next one finds unpacked.
func (l *lab) pull(ctx context.Context, c prepared) error {
	pods := l.client.CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pulls"}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}}
	for i, repository := range slices.Sorted(maps.Keys(c.images)) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("image-%d", i), Image: repository + ":pulled",
			Command: []string{"/only-pulled"}, // no image has it
		})
	}
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.PodFailed, err
	}); err != nil {
		return fmt.Errorf("pulling the images of %s: %w", c.name, err)
	}
	// Its containers have ended, so there is nothing to wait for.
	now := int64(0)
	return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}
